// Replies of the admin address's REST form.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "serving/frontend/http/http_message.h"

namespace tessera::serving {

// Returns 200 with the message as JSON, see MessageJson().
HttpReply JsonReply(const google::protobuf::Message& message);

// Returns {"error": "message"} with the status of the code as in TensorFlow Serving's REST API,
// except that FAILED_PRECONDITION is 409: the request was right, the state is another one.
// UNAUTHENTICATED tells in WWW-Authenticate what to send.
HttpReply ErrorReply(const absl::Status& status);

// Adds headers by which a browser does not keep the reply, which may be secret, does not guess its
// type, and does not show a page with buttons inside one of another site.
void AddBrowserHeaders(HttpReply* reply);

}  // namespace tessera::serving
