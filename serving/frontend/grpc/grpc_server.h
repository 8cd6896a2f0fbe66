// GrpcServer: the gRPC port of a server.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/grpc/calls_under_way.h"
#include "serving/frontend/grpc/grpc_waker.h"
#include "serving/frontend/grpc/health_service.h"
#include "serving/frontend/grpc/model_service.h"
#include "serving/frontend/grpc/prediction_service.h"
#include "serving/frontend/grpc/server_credentials.h"
#include "serving/frontend/kserve/kserve_service.h"
#include "serving/frontend/request_handler.h"

namespace tessera::serving {

// Serves PredictionService, ModelService, GRPCInferenceService and reflection, and health if that
// is enabled, from Start() to the destructor. Messages may be as large as gRPC allows.
class GrpcServer {
 public:
  struct Options {
    // TCP port, on all addresses. 0: none.
    int port = 0;
    // Path of a Unix socket to listen on as well. The socket of a server that has
    // crashed is replaced. Empty: none.
    std::string socket_path;
    // The credentials that the port and the socket ask of clients.
    ServerCredentialsOptions access;
    // Name and value, an int or a string. A later argument overrides an earlier one of its name.
    struct ChannelArgument {
      std::string name;
      std::string text;
      absl::optional<int> number;
    };
    std::vector<ChannelArgument> channel_arguments;
    // The most requests that run at once, besides those that run on gRPC's own threads.
    int max_threads = 8;
    // See RequestPool.
    Host* host = nullptr;
    // Serve grpc.health.v1.Health, which answers SERVING for "", "PredictionService" and
    // "ModelService".
    bool health_service = false;
    PredictionService::Options prediction;
    // Further services on the same port. They must outlive the server.
    std::vector<grpc::Service*> services;
  };

  // Returns when the port is open. `handler` must outlive the server, and so must `repository`,
  // without which (null) KServe's protocol is not served.
  // Errors: INVALID_ARGUMENT if there is neither a port nor a socket, or if it is in use;
  // RESOURCE_EXHAUSTED if too many files are open.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const Options& options,
                                                           RequestHandler* handler,
                                                           ModelRepository* repository = nullptr);
  // Cancels the requests that still run.
  ~GrpcServer();

  // Returns the TCP port.
  int port() const { return port_; }
  // Accepts no more requests. Returns when running ones have ended; at the deadline they are
  // cancelled. Streams that wait for their clients, and connections without requests, are ended
  // soon.
  void Shutdown(absl::Time deadline);

 private:
  GrpcServer(const Options& options, RequestHandler* handler, ModelRepository* repository);

  RequestPool pool_;
  const std::vector<std::unique_ptr<MetricsRegistry::Collection>> pool_metrics_;
  PredictionService prediction_service_;
  ModelService model_service_;
  HealthService health_service_;
  std::optional<KServeService> kserve_service_;
  CallsUnderWay calls_;
  GrpcWaker waker_;
  int port_ = 0;
  std::vector<std::shared_ptr<grpc::ServerCredentials>> credentials_;  // for each address
  std::unique_ptr<grpc::Server> server_;  // declared last, because it calls the members above
};

}  // namespace tessera::serving
