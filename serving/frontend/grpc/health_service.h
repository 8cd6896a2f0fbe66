// grpc.health.v1.Health.
#pragma once

#include <grpcpp/grpcpp.h>

#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "grpc_health/v1/health.grpc.pb.h"

namespace tessera::serving {

// Answers SERVING for each service until EndWatches(), and NOT_SERVING from then on. Thread-safe.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  // The names by which clients ask; "" for the whole server.
  explicit HealthService(std::vector<std::string> services);

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const grpc::health::v1::HealthListRequest* request,
                                 grpc::health::v1::HealthListResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

  // Tells all who watch that the server ends, and ends their calls, which would hold up its
  // shutdown.
  void EndWatches() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  class Watcher;
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  // Returns SERVICE_UNKNOWN for a name that is none of a service.
  Status StatusOf(absl::string_view service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::vector<std::string> services_;
  mutable absl::Mutex mu_;
  bool is_serving_ ABSL_GUARDED_BY(mu_) = true;
  std::set<Watcher*> watchers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving
