// HttpRoutes: which handler answers which path.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "serving/frontend/http/http_message.h"

namespace tessera::serving {

// A page, or a call of an API.
//
//   std::vector<HttpRoute> routes = {
//       {"GET", "/dashboard", ShowPage, HttpRoute::kPublic},
//       {"GET", "/admin/v1/overview", [this](const HttpRequest&) { return Overview(); }},
//       {"POST", "/admin/v1/models/*", [this](const HttpRequest& request) {
//          return Act(PathOfTarget(request.target), request.body);
//       }},
//       {"GET", "/admin/v1/load", [this](const HttpRequest&) -> HttpReply {
//          return {.content_type = "text/event-stream", .stream = [this](auto stream) {
//            Add(std::move(stream));  // to be written to from any thread, for as long as wanted
//          }};
//       }},
//   };
struct HttpRoute {
  enum Access {
    kProtected,  // for those alone who may steer the server
    kPublic,     // for everybody, because the reply has no secrets: a page without its data
  };

  // "GET", which answers HEAD as well, or "POST".
  std::string method;
  // The path, or a folder and '*' for all paths that begin so and go on: "/admin/v1/models/*".
  // Percent-encoding is compared as it comes.
  std::string path;
  // Called on several threads at once, of which there are few; it may wait for a short while.
  std::function<HttpReply(const HttpRequest&)> handler;
  Access access = kProtected;
  // A request with a larger body is refused before that is read.
  uint64_t max_body_bytes = 64 << 10;
};

// Thread-safe, as it does not change.
class HttpRoutes {
 public:
  explicit HttpRoutes(std::vector<HttpRoute> routes) : routes_(std::move(routes)) {}

  struct Match {
    const HttpRoute* route = nullptr;
    // Without a route: the methods that the path has, as for the header Allow. Empty if there is no
    // such path.
    absl::string_view allowed;
  };
  // Returns the route of a request. The longest path that fits counts, and of two that are as long
  // the first. `path` has no query.
  Match Find(absl::string_view method, absl::string_view path) const;

 private:
  const std::vector<HttpRoute> routes_;
};

}  // namespace tessera::serving
