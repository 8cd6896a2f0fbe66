// HttpRequest and HttpReply: one request and its reply, whatever connection they come by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "serving/frontend/http/http_stream.h"

namespace tessera::serving {

// The client of a request, while its connection lasts. Thread-safe.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Calls `gone` if the client ends its connection, or its side of it, before the reply to its
  // request is sent; unless it has sent another request meanwhile, behind which its end is not
  // seen. A later call for the same request replaces an earlier one.
  virtual void NotifyGone(std::function<void()> gone) = 0;
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // as sent: "/v1/models/m?a=b"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // without the chunks that it was sent in
  // The client's address, "10.0.0.7:41234" or "[::1]:41234". A view of the connection, which exists
  // as long as the responder.
  absl::string_view peer;
  std::weak_ptr<HttpClient> client;  // empty if no connection has sent it

  // Returns the first header of this name, whose case is ignored; "" if there is none.
  absl::string_view Header(absl::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (absl::EqualsIgnoreCase(key, name)) return value;
    }
    return {};
  }
  // Returns the value of the header of this name, whose case is ignored; "" if there is none, or if
  // there are several.
  absl::string_view OnlyHeader(absl::string_view name) const {
    const auto has_name = [&](const auto& header) {
      return absl::EqualsIgnoreCase(header.first, name);
    };
    const auto found = std::find_if(headers.begin(), headers.end(), has_name);
    if (found == headers.end()) return {};
    if (std::find_if(found + 1, headers.end(), has_name) != headers.end()) return {};
    return found->second;
  }
};

struct HttpReply {
  int status = 200;
  std::string content_type;  // "" for no such header
  // Further headers. The server adds length, date and connection by itself.
  std::vector<std::pair<absl::string_view, std::string>> headers;
  std::string body;
  // The model that the request asked for, and the version that answered it, for logs.
  std::string model;
  std::optional<int64_t> version;
  // Ends the connection after this reply, whatever the client asked for.
  bool close = false;
  // If set, the body goes on after `body`, and ends with the connection. Called once, on the thread
  // of the connection, when `body` was sent; not called for HEAD, or if the client has gone.
  std::function<void(std::shared_ptr<HttpStream>)> stream;
};

// Sends the reply to one request. Must be called once, on any thread. A responder that is destroyed
// without a call ends the connection.
using HttpResponder = std::function<void(HttpReply)>;
// Answers a request, now or later. Called on the thread that read it, which reads no other requests
// meanwhile. Must not throw.
using HttpHandler = std::function<void(HttpRequest, HttpResponder)>;

}  // namespace tessera::serving
