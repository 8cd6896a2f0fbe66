#include "serving/frontend/grpc/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "serving/frontend/grpc/port_check.h"
#include "serving/frontend/pool_metrics.h"

namespace tessera::serving {
namespace {

// The length limit of the path of a Unix socket, without its terminating zero.
constexpr size_t kMaxSocketPathBytes = sizeof(sockaddr_un::sun_path) - 1;

// Removes the socket that a server left behind when it crashed, because binding would fail.
// Errors: INVALID_ARGUMENT if a server listens on it, which would no longer be found.
absl::Status RemoveStaleSocket(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return absl::OkStatus();
  if (const absl::Status is_free = CheckSocketIsFree(path); !is_free.ok()) {
    return Annotate(is_free, "Failed to BuildAndStart gRPC server: ");
  }
  unlink(path.c_str());
  return absl::OkStatus();
}

}  // namespace

GrpcServer::GrpcServer(const Options& options, RequestHandler* handler, ModelRepository* repository)
    : pool_({.name = "request", .max_threads = options.max_threads, .host = options.host}),
      pool_metrics_(CollectPool("grpc", &pool_, &handler->metrics())),
      prediction_service_(options.prediction, handler, &pool_),
      model_service_(handler, &pool_),
      health_service_({"", "PredictionService", "ModelService"}) {
  if (repository != nullptr) kserve_service_.emplace(handler, repository, &pool_);
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const Options& options,
                                                              RequestHandler* handler,
                                                              ModelRepository* repository) {
  if (options.port == 0 && options.socket_path.empty()) {
    return absl::InvalidArgumentError(
        "nothing to listen on: set --port or --grpc_socket_path to a value that is not 0 or empty");
  }
  if (options.socket_path.size() > kMaxSocketPathBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--grpc_socket_path: ", options.socket_path, " has ", options.socket_path.size(),
        " bytes; a Unix socket's path has at most ", kMaxSocketPathBytes,
        ": choose a shorter one, under /tmp or /run for example"));
  }
  // gRPC aborts where it gets none for its events, and takes the lack of one for a taken port.
  if (const absl::Status are_free = CheckDescriptorsAreFree(kDescriptorsToListen); !are_free.ok()) {
    return Annotate(are_free, "Failed to BuildAndStart gRPC server: ");
  }
  std::unique_ptr<GrpcServer> result(new GrpcServer(options, handler, repository));
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  const auto listen = [&](const std::string& address, int* port) -> absl::Status {
    ASSIGN_OR_RETURN(result->credentials_.emplace_back(), MakeServerCredentials(options.access));
    builder.AddListeningPort(address, result->credentials_.back(), port);
    return absl::OkStatus();
  };
  if (options.port != 0) {
    RETURN_IF_ERROR(listen(absl::StrCat("0.0.0.0:", options.port), &result->port_));
  }
  if (!options.socket_path.empty()) {
    RETURN_IF_ERROR(RemoveStaleSocket(options.socket_path));
    RETURN_IF_ERROR(listen(absl::StrCat("unix:", options.socket_path), nullptr));
  }
  builder.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
  builder.SetMaxSendMessageSize(std::numeric_limits<int>::max());
  // Otherwise a second server on the port would silently take some of the requests.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  for (const Options::ChannelArgument& argument : options.channel_arguments) {
    if (argument.number) {
      builder.AddChannelArgument(argument.name, *argument.number);
    } else {
      builder.AddChannelArgument(argument.name, argument.text);
    }
  }
  result->calls_.CountFor(&builder);
  builder.RegisterService(&result->prediction_service_);
  builder.RegisterService(&result->model_service_);
  if (options.health_service) builder.RegisterService(&result->health_service_);
  if (result->kserve_service_) builder.RegisterService(&*result->kserve_service_);
  for (grpc::Service* service : options.services) builder.RegisterService(service);
  result->server_ = builder.BuildAndStart();
  if (result->server_ == nullptr || (options.port != 0 && result->port_ == 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Failed to BuildAndStart gRPC server: port ", options.port,
        options.socket_path.empty() ? "" : absl::StrCat(" or socket ", options.socket_path),
        " is taken or may not be opened"));
  }
  return result;
}

GrpcServer::~GrpcServer() {
  if (server_ != nullptr) Shutdown(absl::Now());
}

void GrpcServer::Shutdown(absl::Time deadline) {
  health_service_.EndWatches();
  // A stream that waits for its client is left open for a while. What arrives meanwhile is still
  // answered.
  calls_.Shutdown(server_.get(), deadline, [this] {
    if (!kserve_service_) return;
    kserve_service_->EndStreamsIdleSince(absl::Now() - CallsUnderWay::kClientTime);
  });
}

}  // namespace tessera::serving
