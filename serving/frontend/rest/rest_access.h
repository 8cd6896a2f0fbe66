// RestAccess: which requests to the REST port are answered if a token is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "serving/frontend/auth/bearer_tokens.h"
#include "serving/frontend/http/http_message.h"
#include "serving/frontend/http/http_routes.h"
#include "serving/frontend/rest/rest_api.h"

namespace tessera::serving {

// All requests need a token but those that probe whether the server lives or is ready, pages
// without data, and, if CORS is enabled, the preflight requests by which browsers ask what they may
// send, which have no token. Thread-safe.
class RestAccess {
 public:
  // The options must have tokens.
  explicit RestAccess(const RestApi::Options& api);

  // Returns the reply to a request that has no valid token and needs one: 401. Otherwise sets the
  // limit of the body of a request that needs none. See HttpServer::Options::admit.
  std::optional<HttpReply> Refuse(const HttpRequest& head, uint64_t* max_body_bytes) const;

 private:
  bool NeedsToken(const HttpRequest& head) const;

  const std::shared_ptr<const BearerTokens> tokens_;
  const HttpRoutes pages_;
  const bool enable_cors_;
};

}  // namespace tessera::serving
