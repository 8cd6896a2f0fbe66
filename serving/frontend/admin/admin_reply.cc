#include "serving/frontend/admin/admin_reply.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "serving/frontend/http/http_status.h"
#include "serving/frontend/json/json_message.h"
#include "serving/frontend/json/json_response.h"

namespace tessera::serving {
namespace {

constexpr char kJson[] = "application/json";

}  // namespace

HttpReply JsonReply(const google::protobuf::Message& message) {
  absl::StatusOr<std::string> json = MessageJson(message);
  if (!json.ok()) return ErrorReply(json.status());
  return {.content_type = kJson, .body = *std::move(json)};
}

HttpReply ErrorReply(const absl::Status& status) {
  HttpReply reply{.status = absl::IsFailedPrecondition(status) ? 409 : HttpStatusOf(status.code()),
                  .content_type = kJson,
                  .body = JsonErrorBody(status.message())};
  if (absl::IsUnauthenticated(status)) {
    reply.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"tessera\"");
  }
  return reply;
}

void AddBrowserHeaders(HttpReply* reply) {
  reply->headers.insert(reply->headers.end(), {{"Cache-Control", "no-store"},
                                               {"X-Content-Type-Options", "nosniff"},
                                               {"X-Frame-Options", "DENY"}});
}

}  // namespace tessera::serving
