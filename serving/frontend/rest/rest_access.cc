#include "serving/frontend/rest/rest_access.h"

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "serving/frontend/http/http_target.h"
#include "serving/frontend/json/json_response.h"

namespace tessera::serving {
namespace {

// The limit of the body of a request without a token. Such requests need no body.
constexpr uint64_t kMaxOpenBodyBytes = 4 << 10;

constexpr absl::string_view kProbes[] = {RestApi::kLivePath, RestApi::kReadyPath, "/v2/health/live",
                                         "/v2/health/ready"};

}  // namespace

RestAccess::RestAccess(const RestApi::Options& api)
    : tokens_(api.tokens), pages_(api.pages), enable_cors_(api.enable_cors) {}

bool RestAccess::NeedsToken(const HttpRequest& head) const {
  if (head.method == "OPTIONS") return !enable_cors_;
  if (head.method != "GET" && head.method != "HEAD") return true;
  const absl::string_view path = PathOfTarget(head.target);
  for (const absl::string_view probe : kProbes) {
    if (path == probe) return false;
  }
  const HttpRoutes::Match page = pages_.Find(head.method, path);
  return page.route == nullptr || page.route->access != HttpRoute::kPublic;
}

std::optional<HttpReply> RestAccess::Refuse(const HttpRequest& head,
                                            uint64_t* max_body_bytes) const {
  if (!NeedsToken(head)) {
    *max_body_bytes = kMaxOpenBodyBytes;
    return std::nullopt;
  }
  const absl::Status status = tokens_->Check(head.Header("Authorization"), absl::Now());
  if (status.ok()) return std::nullopt;
  HttpReply reply{.status = 401,
                  .content_type = "application/json",
                  .headers = {{"WWW-Authenticate", "Bearer realm=\"tessera\""}},
                  .body = JsonErrorBody(status.message())};
  // Otherwise a page of another origin could not see why it got no answer.
  if (enable_cors_) reply.headers.emplace_back("Access-Control-Allow-Origin", "*");
  return reply;
}

}  // namespace tessera::serving
