// One HTTP request and its reply, apart from how they travel.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // as sent: "/v1/models/m?a=b"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // put together from its chunks

  // The first header of this name, in any case of letters; "" if there is none.
  absl::string_view Header(absl::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (absl::EqualsIgnoreCase(key, name)) return value;
    }
    return {};
  }
};

struct HttpReply {
  int status = 200;
  std::string content_type;  // "": no such header
  // Further ones. Length, date and connection are the server's matter.
  std::vector<std::pair<absl::string_view, absl::string_view>> headers;
  std::string body;
  // End the connection after this reply, whatever the client asked for.
  bool close = false;
};

// Sends the reply of one request. To be called once, on any thread; a responder that is dropped
// without a call ends the connection.
using HttpResponder = std::function<void(HttpReply)>;
// Answers a request, now or later. Called on the thread that read it, which reads no others
// meanwhile; must not throw.
using HttpHandler = std::function<void(HttpRequest, HttpResponder)>;

}  // namespace tessera::serving
