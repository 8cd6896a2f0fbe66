#include "serving/frontend/admin/admin_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/exception_status.h"
#include "runtime/base/status.h"
#include "serving/core/elastic_pool.h"
#include "serving/frontend/admin/admin_access.h"
#include "serving/frontend/admin/admin_reply.h"
#include "serving/frontend/admin/admin_service.h"
#include "serving/frontend/admin/rollout_calls.h"
#include "serving/frontend/admin/rollout_feed.h"
#include "serving/frontend/admin/rollout_routes.h"
#include "serving/frontend/grpc/calls_under_way.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/http/http_target.h"

namespace tessera::serving {
namespace {

// Requests that run at once. Streams of events are none of them.
constexpr int kMaxThreads = 4;
constexpr uint32_t kMaxHeadBytes = 64 << 10;
constexpr int kMaxMessageBytes = 64 << 10;  // of gRPC
constexpr absl::Duration kIdleTimeout = absl::Minutes(10);

std::vector<HttpRoute> Joined(std::vector<HttpRoute> routes, std::vector<HttpRoute> more) {
  for (HttpRoute& route : more) routes.push_back(std::move(route));
  return routes;
}

std::unique_ptr<grpc::Server> MakeGrpcServer(grpc::Service* service, CallsUnderWay* calls) {
  grpc::ServerBuilder builder;
  calls->CountFor(&builder);
  builder.RegisterService(service);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(absl::ToInt64Milliseconds(kIdleTimeout)));
  // Clients that vanished are noticed by unanswered pings, and their watches end.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  return builder.BuildAndStart();
}

}  // namespace

class AdminServer::Impl {
 public:
  Impl(Options options, std::unique_ptr<AdminAccess> access)
      : access_(std::move(access)),
        calls_(options.rollouts),
        feed_({.heartbeat = options.heartbeat}, options.rollouts),
        routes_(Joined(RolloutRoutes(access_.get(), &calls_, &feed_), std::move(options.routes))),
        pool_(std::make_unique<ElasticPool>(
            ElasticPool::Options{.name = "admin", .max_threads = kMaxThreads})),
        service_(access_.get(), &calls_, &feed_, pool_.get()) {}

  ~Impl() {
    Shutdown(absl::Now());
    if (http_ != nullptr) http_->Stop();  // nothing is scheduled, and no client handed over, then
    pool_.reset();                        // and no reply is sent after this
  }

  absl::Status Listen(int port, const std::string& address,
                      std::shared_ptr<ServerCertificates> certificates) {
    grpc_ = MakeGrpcServer(&service_, &grpc_calls_);
    if (grpc_ == nullptr) return absl::InternalError("gRPC does not start");
    HttpServer::Options http;
    http.port = port;
    http.address = address;
    http.max_head_bytes = kMaxHeadBytes;
    http.admit = [this](const HttpRequest& head, uint64_t* max_body_bytes) {
      return Refusal(head, max_body_bytes);
    };
    http.idle_timeout = kIdleTimeout;
    http.certificates = std::move(certificates);
    http.take_http2 = [grpc = grpc_.get()](int socket) {
      grpc::AddInsecureChannelFromFd(grpc, socket);
    };
    ASSIGN_OR_RETURN(
        http_, HttpServer::Start(http, [this](HttpRequest request, HttpResponder respond) {
          pool_->Schedule([this, request = std::move(request), respond = std::move(respond)] {
            respond(Answer(request));
          });
        }));
    return absl::OkStatus();
  }

  int port() const { return http_->port(); }

  void Shutdown(absl::Time deadline) {
    feed_.Stop();
    if (http_ != nullptr) http_->Shutdown(deadline);
    if (grpc_ != nullptr) grpc_calls_.Shutdown(grpc_.get(), deadline);
  }

 private:
  HttpRoutes::Match Find(const HttpRequest& request) const {
    return routes_.Find(request.method, PathOfTarget(request.target));
  }

  // Refuses, before its body is read, what a client may not ask or what nobody answers.
  std::optional<HttpReply> Refusal(const HttpRequest& head, uint64_t* max_body_bytes) const {
    const HttpRoutes::Match match = Find(head);
    if (match.route == nullptr || match.route->access == HttpRoute::kProtected) {
      const absl::Status status = access_->Check(head);
      if (!status.ok()) return ForBrowsers(ErrorReply(status));
    }
    if (match.route == nullptr) return ForBrowsers(NoRouteReply(match));
    *max_body_bytes = match.route->max_body_bytes;
    return std::nullopt;
  }

  HttpReply Answer(const HttpRequest& request) const {
    HttpReply reply;
    const absl::Status status = CatchExceptions("the request", [&] {
      reply = Find(request).route->handler(request);
      return absl::OkStatus();
    });
    return ForBrowsers(status.ok() ? std::move(reply) : ErrorReply(status));
  }

  static HttpReply ForBrowsers(HttpReply reply) {
    AddBrowserHeaders(&reply);
    return reply;
  }

  static HttpReply NoRouteReply(const HttpRoutes::Match& match) {
    if (match.allowed.empty()) {
      return ErrorReply(absl::NotFoundError("there is nothing at this path"));
    }
    HttpReply reply = ErrorReply(
        absl::UnimplementedError(absl::StrCat("this path takes ", match.allowed, " alone")));
    reply.status = 405;
    reply.headers.emplace_back("Allow", match.allowed);
    return reply;
  }

  const std::unique_ptr<AdminAccess> access_;
  const RolloutCalls calls_;
  RolloutFeed feed_;
  const HttpRoutes routes_;
  std::unique_ptr<ElasticPool> pool_;
  AdminService service_;
  CallsUnderWay grpc_calls_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<HttpServer> http_;
};

AdminServer::AdminServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminServer::~AdminServer() = default;

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(Options options) {
  ASSIGN_OR_RETURN(std::unique_ptr<AdminAccess> access,
                   AdminAccess::Make(options.address, options.token_file));
  const int port = options.port;
  const std::string address = options.address;
  std::shared_ptr<ServerCertificates> certificates = options.certificates;
  auto impl = std::make_unique<Impl>(std::move(options), std::move(access));
  RETURN_IF_ERROR(impl->Listen(port, address, std::move(certificates)));
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(impl)));
}

int AdminServer::port() const { return impl_->port(); }
void AdminServer::Shutdown(absl::Time deadline) { impl_->Shutdown(deadline); }

}  // namespace tessera::serving
