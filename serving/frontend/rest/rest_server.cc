#include "serving/frontend/rest/rest_server.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/cpu_count.h"
#include "runtime/base/status.h"
#include "serving/frontend/http/http_access.h"
#include "serving/frontend/http/http_reply_head.h"
#include "serving/frontend/pool_metrics.h"
#include "serving/frontend/rest/rest_limits.h"

namespace tessera::serving {
namespace {

// Lets pages of other origins call what `handle` answers, as RestApi does for its own paths.
HttpHandler ForOtherOrigins(bool with_tokens, HttpHandler handle) {
  return [with_tokens, handle = std::move(handle)](HttpRequest request, HttpResponder respond) {
    HttpResponder respond_with_headers = [with_tokens,
                                          respond = std::move(respond)](HttpReply reply) {
      constexpr absl::string_view kHeaders = "Content-Type, Inference-Header-Content-Length";
      reply.headers.emplace_back("Access-Control-Allow-Origin", "*");
      reply.headers.emplace_back("Access-Control-Allow-Methods", "POST, GET");
      reply.headers.emplace_back("Access-Control-Allow-Headers",
                                 absl::StrCat(kHeaders, with_tokens ? ", Authorization" : ""));
      reply.headers.emplace_back("Access-Control-Expose-Headers", std::string(kHeaders));
      respond(std::move(reply));
    };
    if (request.method == "OPTIONS") return respond_with_headers(HttpReply());
    handle(std::move(request), std::move(respond_with_headers));
  };
}

// Returns whether the body is announced to be small enough for any call.
bool HasSmallBody(const HttpRequest& head) {
  uint64_t bytes;
  return absl::SimpleAtoi(head.Header("Content-Length"), &bytes) &&
         bytes <= KServeRest::kMaxSettingBytes;
}

}  // namespace

RestServer::RestServer(const Options& options, RequestHandler* handler, ModelRepository* repository)
    : pool_(std::make_unique<RequestPool>(RequestPool::Options{
          .name = "rest", .max_threads = std::max(1, options.num_threads), .host = options.host})),
      pool_metrics_(CollectPool("rest", pool_.get(), &handler->metrics())),
      api_(options.api, handler, pool_.get()) {
  if (repository != nullptr) {
    kserve_.emplace(options.api.timeout, handler, repository, pool_.get());
  }
  if (options.api.tokens != nullptr) access_.emplace(options.api);
}

absl::StatusOr<std::unique_ptr<RestServer>> RestServer::Start(const Options& options,
                                                              RequestHandler* handler,
                                                              ModelRepository* repository) {
  if (options.num_threads < 1) {
    return absl::InvalidArgumentError("a REST server needs at least one thread");
  }
  std::unique_ptr<RestServer> server(new RestServer(options, handler, repository));
  HttpServer::Options http;
  http.port = options.port;
  http.num_threads = std::min(options.num_threads, AvailableCores());
  http.max_body_bytes = options.max_body_bytes;
  http.certificates = options.certificates;
  RestAccess* const access = server->access_ ? &*server->access_ : nullptr;
  const bool has_kserve = server->kserve_.has_value();
  http.admit = [access, handler, has_kserve](const HttpRequest& head, uint64_t* max_body_bytes) {
    std::optional<HttpReply> refusal;
    if (access != nullptr) refusal = access->Refuse(head, max_body_bytes);
    if (has_kserve && !HasSmallBody(head) && KServeRest::Serves(head)) {
      *max_body_bytes = std::min(*max_body_bytes, KServeRest::MaxBodyBytes(head));
    }
    if (!refusal) refusal = RefuseLargeBody(*handler, head, max_body_bytes);
    AccessLog* const log = handler->access_log();
    if (refusal && log != nullptr) LogRefusal(log, head, *refusal);
    return refusal;
  };
  http.body_too_large = [handler](const HttpRequest& head) {
    std::optional<HttpReply> limited = ReplyToLargeBody(*handler, head);
    HttpReply reply = limited ? *std::move(limited) : HttpStatusPage(413);
    if (AccessLog* const log = handler->access_log()) LogRefusal(log, head, reply);
    return reply;
  };
  if (AccessLog* const log = handler->access_log()) {
    http.on_refused = [log](const HttpRequest& head, const HttpReply& reply) {
      LogRefusal(log, head, reply);
    };
  }
  RestApi* const api = &server->api_;
  HttpHandler answer_kserve;
  if (server->kserve_) {
    answer_kserve = [kserve = &*server->kserve_](HttpRequest request, HttpResponder respond) {
      kserve->Handle(std::move(request), std::move(respond));
    };
    if (options.api.enable_cors) {
      answer_kserve = ForOtherOrigins(options.api.tokens != nullptr, std::move(answer_kserve));
    }
  }
  HttpHandler answer = [api, answer_kserve = std::move(answer_kserve)](HttpRequest request,
                                                                       HttpResponder respond) {
    if (answer_kserve != nullptr && KServeRest::Serves(request)) {
      return answer_kserve(std::move(request), std::move(respond));
    }
    api->Handle(std::move(request), std::move(respond));
  };
  if (handler->access_log() != nullptr) {
    answer = LoggingAccess(handler->access_log(), std::move(answer));
  }
  ASSIGN_OR_RETURN(server->http_, HttpServer::Start(http, std::move(answer)));
  return server;
}

RestServer::~RestServer() {
  Cancel();
  pool_metrics_.clear();
  if (http_ != nullptr) http_->Stop();  // nothing is scheduled after this
  pool_.reset();
  kserve_.reset();  // no reply is sent after this
}

void RestServer::Shutdown(absl::Time deadline) {
  http_->Shutdown(deadline);
  Cancel();
}

void RestServer::Cancel() {
  api_.Cancel();
  if (kserve_) kserve_->Cancel();
}

}  // namespace tessera::serving
