// Writes the head of an HTTP reply.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/frontend/http/http_message.h"

namespace tessera::serving {

// The properties of a request that its reply depends on.
struct HttpReplyContext {
  bool is_http_1_1 = true;
  bool is_head = false;    // the reply has no body, and no length of one
  bool keep_alive = true;  // the connection stays open for more requests
};

// Returns the status line and the headers, with the empty line after them.
std::string HttpReplyHead(const HttpReply& reply, const HttpReplyContext& context, absl::Time now);

// Returns a page that shows the status alone, for requests that are none of the API.
HttpReply HttpStatusPage(int status);

}  // namespace tessera::serving
