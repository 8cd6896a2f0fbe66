#include "serving/frontend/http/http_routes.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace tessera::serving {
namespace {

// Returns the length of the part of a route's path that a request's path must have.
size_t FixedLength(absl::string_view pattern) {
  absl::ConsumeSuffix(&pattern, "*");
  return pattern.size();
}

bool Fits(absl::string_view path, absl::string_view pattern) {
  if (!absl::ConsumeSuffix(&pattern, "*")) return path == pattern;
  return path.size() > pattern.size() && absl::StartsWith(path, pattern);
}

}  // namespace

HttpRoutes::Match HttpRoutes::Find(absl::string_view method, absl::string_view path) const {
  Match match;
  bool has_get = false, has_post = false;
  for (const HttpRoute& route : routes_) {
    if (!Fits(path, route.path)) continue;
    has_get = has_get || route.method == "GET";
    has_post = has_post || route.method == "POST";
    if (route.method != (method == "HEAD" ? "GET" : method)) continue;
    if (match.route == nullptr || FixedLength(route.path) > FixedLength(match.route->path)) {
      match.route = &route;
    }
  }
  if (match.route == nullptr && has_get) match.allowed = has_post ? "GET, HEAD, POST" : "GET, HEAD";
  if (match.route == nullptr && !has_get && has_post) match.allowed = "POST";
  return match;
}

}  // namespace tessera::serving
