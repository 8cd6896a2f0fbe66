// The lines before the body of an HTTP reply.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/frontend/http/http_message.h"

namespace tessera::serving {

// What of a request its reply depends on.
struct HttpReplyContext {
  bool is_http_1_1 = true;
  bool is_head = false;    // no body, and no length of one
  bool keep_alive = true;  // the connection stays open for more
};

// Status line and headers, down to the empty line.
std::string HttpReplyHead(const HttpReply& reply, const HttpReplyContext& context, absl::Time now);

// A page that says no more than the status: for what is no request of the API.
HttpReply HttpStatusPage(int status);

// "Not Found" for 404.
absl::string_view HttpReasonPhrase(int status);

}  // namespace tessera::serving
