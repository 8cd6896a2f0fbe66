#include "serving/frontend/grpc/health_service.h"

#include <algorithm>
#include <utility>

namespace tessera::serving {

using grpc::health::v1::HealthCheckResponse;

// One call of Watch(). The status of a service changes once, when the server ends.
class HealthService::Watcher final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  explicit Watcher(HealthService* service) : service_(service) {}

  void Begin(Status status) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    is_writing_ = true;
    response_.set_status(status);
    StartWrite(&response_);
  }
  void End() ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    is_ending_ = true;
    WriteLast();
  }

 private:
  void WriteLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (is_writing_ || std::exchange(is_finished_, true)) return;
    if (response_.status() == HealthCheckResponse::SERVING) {
      response_.set_status(HealthCheckResponse::NOT_SERVING);
    }
    StartWriteAndFinish(&response_, {},
                        {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
  }
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    is_writing_ = false;
    if (is_ending_ && ok) WriteLast();
    if (!ok) GiveUp();
  }
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    GiveUp();
  }
  void GiveUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!std::exchange(is_finished_, true)) {
      Finish({grpc::StatusCode::CANCELLED, "the client has gone"});
    }
  }
  void OnDone() override {
    {
      absl::MutexLock lock(&service_->mu_);
      service_->watchers_.erase(this);
    }
    delete this;
  }

  HealthService* const service_;
  HealthCheckResponse response_;
  absl::Mutex mu_;
  bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
  bool is_ending_ ABSL_GUARDED_BY(mu_) = false;
  bool is_finished_ ABSL_GUARDED_BY(mu_) = false;
};

HealthService::HealthService(std::vector<std::string> services) : services_(std::move(services)) {}

HealthService::Status HealthService::StatusOf(absl::string_view service) const {
  if (std::find(services_.begin(), services_.end(), service) == services_.end()) {
    return HealthCheckResponse::SERVICE_UNKNOWN;
  }
  return is_serving_ ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const grpc::health::v1::HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  absl::MutexLock lock(&mu_);
  const Status status = StatusOf(request->service());
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    reactor->Finish({grpc::StatusCode::NOT_FOUND, "service name unknown"});
  } else {
    response->set_status(status);
    reactor->Finish(grpc::Status::OK);
  }
  return reactor;
}

grpc::ServerUnaryReactor* HealthService::List(grpc::CallbackServerContext* context,
                                              const grpc::health::v1::HealthListRequest*,
                                              grpc::health::v1::HealthListResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  absl::MutexLock lock(&mu_);
  for (const std::string& service : services_) {
    (*response->mutable_statuses())[service].set_status(StatusOf(service));
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext*, const grpc::health::v1::HealthCheckRequest* request) {
  auto* const watcher = new Watcher(this);
  absl::MutexLock lock(&mu_);
  watchers_.insert(watcher);
  watcher->Begin(StatusOf(request->service()));
  if (!is_serving_) watcher->End();
  return watcher;
}

void HealthService::EndWatches() {
  absl::MutexLock lock(&mu_);
  is_serving_ = false;
  for (Watcher* const watcher : watchers_) watcher->End();
}

}  // namespace tessera::serving
