// GrpcServer: the gRPC port of a server.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/core/elastic_pool.h"
#include "serving/frontend/grpc/grpc_waker.h"
#include "serving/frontend/grpc/model_service.h"
#include "serving/frontend/grpc/prediction_service.h"
#include "serving/frontend/request_handler.h"

namespace tessera::serving {

// Serves PredictionService and ModelService, reflection, and health if asked for, from Start() to
// its destructor. Messages may be as large as gRPC allows.
class GrpcServer {
 public:
  struct Options {
    // TCP on all addresses; 0: none.
    int port = 0;
    // Also on this Unix socket; a stale one is replaced. Empty: none.
    std::string socket_path;
    // Null: no encryption.
    std::shared_ptr<grpc::ServerCredentials> credentials;
    // "name" and value, an int or a text; later ones override.
    struct ChannelArgument {
      std::string name;
      std::string text;
      absl::optional<int> number;
    };
    std::vector<ChannelArgument> channel_arguments;
    // Requests that run at once beside those that run on gRPC's own threads.
    int max_threads = 8;
    // grpc.health.v1.Health, SERVING for "", "PredictionService" and "ModelService".
    bool health_service = false;
    PredictionService::Options prediction;
    // Further services of the same port; must outlive the server.
    std::vector<grpc::Service*> services;
  };

  // Returns when the port is open. `handler` must outlive the server.
  // Errors: INVALID_ARGUMENT if there is nothing to listen on, or it is taken.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const Options& options,
                                                           RequestHandler* handler);
  // Ends what is still running at once.
  ~GrpcServer();

  // The TCP port; what the system chose if Options::port was one that lets it.
  int port() const { return port_; }
  // Takes no new request, and returns when those under way have ended or the deadline is over, when
  // they are cancelled.
  void Shutdown(absl::Time deadline);

 private:
  GrpcServer(const Options& options, RequestHandler* handler);

  ElasticPool pool_;
  PredictionService prediction_service_;
  ModelService model_service_;
  GrpcWaker waker_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // ends before what it calls
};

}  // namespace tessera::serving
