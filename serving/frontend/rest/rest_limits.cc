#include "serving/frontend/rest/rest_limits.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "serving/frontend/http/http_target.h"
#include "serving/frontend/json/json_response.h"
#include "serving/frontend/kserve/kserve_path.h"
#include "serving/frontend/kserve/kserve_rest.h"
#include "serving/frontend/rest/rest_path.h"
#include "serving/frontend/traceparent.h"

namespace tessera::serving {
namespace {

// The model that a request runs, and the call by which it does.
struct RunTarget {
  std::string model;
  std::string api;
};

std::optional<RunTarget> RunTargetOf(const HttpRequest& head) {
  if (KServeRest::Serves(head)) {
    std::optional<KServePath> path = ParseKServePath(head.method, PathOfTarget(head.target));
    if (!path || path->call != KServeCall::kInfer) return std::nullopt;
    return RunTarget{std::move(path->model), "infer"};
  }
  absl::StatusOr<RestTarget> target = ParseRestPath(head.method, WithoutAuthority(head.target));
  if (!target.ok() || head.method != "POST") return std::nullopt;
  return RunTarget{std::move(target->model), std::move(target->action)};
}

// A limit of bytes, and the request that it counts for.
struct Limited {
  RunTarget target;
  const ModelAdmission* admission;
  int64_t max_bytes;
};

std::optional<Limited> LimitFor(const RequestHandler& handler, const HttpRequest& head) {
  if (!handler.HasLimits()) [[likely]]
    return std::nullopt;
  std::optional<RunTarget> target = RunTargetOf(head);
  if (!target) return std::nullopt;
  const ModelAdmission* const admission = handler.LimitsOf(target->model);
  if (admission == nullptr) return std::nullopt;
  const std::optional<int64_t> limit = admission->max_request_bytes();
  if (!limit) return std::nullopt;
  return Limited{*std::move(target), admission, *limit};
}

// Records that a request was refused. Returns the reply.
HttpReply Refused(const RequestHandler& handler, const HttpRequest& head, RunTarget target,
                  const absl::Status& status) {
  const absl::Time now = absl::Now();
  const auto trace_id = [&] { return TraceIdOf(head.OnlyHeader(kTraceparent)); };
  handler.RecordRequest(Entrypoint::kRest, target.api, target.model, status, {.arrived = now},
                        trace_id);
  handler.failures().Note("rest", target.api, target.model, status, trace_id, now);
  return HttpReply{.status = 413,
                   .content_type = "application/json",
                   .body = JsonErrorBody(status.message()),
                   .model = std::move(target.model)};
}

}  // namespace

std::optional<HttpReply> RefuseLargeBody(const RequestHandler& handler, const HttpRequest& head,
                                         uint64_t* max_body_bytes) {
  std::optional<Limited> limited = LimitFor(handler, head);
  if (!limited) [[likely]]
    return std::nullopt;
  *max_body_bytes = std::min(*max_body_bytes, static_cast<uint64_t>(limited->max_bytes));
  int64_t announced;
  if (!absl::SimpleAtoi(head.Header("Content-Length"), &announced)) return std::nullopt;
  const absl::Status status = limited->admission->CheckBytes(announced);
  if (status.ok()) return std::nullopt;
  return Refused(handler, head, std::move(limited->target), status);
}

std::optional<HttpReply> ReplyToLargeBody(const RequestHandler& handler, const HttpRequest& head) {
  std::optional<Limited> limited = LimitFor(handler, head);
  if (!limited) return std::nullopt;
  return Refused(handler, head, std::move(limited->target), limited->admission->TooManyBytes());
}

}  // namespace tessera::serving
