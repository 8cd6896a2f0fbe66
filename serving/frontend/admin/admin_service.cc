#include "serving/frontend/admin/admin_service.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "serving/frontend/grpc/grpc_status.h"

namespace tessera::serving {
namespace {

// A watcher that is further behind is dropped.
constexpr size_t kMaxQueuedEvents = 2 * RolloutFeed::kKeptEvents;

std::string AuthorizationOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

// One call of WatchEvents. The feed and gRPC both hold it, and either may let go first.
class WatchCall final : public grpc::ServerWriteReactor<RolloutEvent>,
                        public RolloutFeed::Watcher,
                        public std::enable_shared_from_this<WatchCall> {
 public:
  WatchCall(grpc::CallbackServerContext* context, const AdminAccess* access)
      : context_(context), access_(access), authorization_(AuthorizationOf(*context)) {}

  // Must be called first.
  void Start(const WatchEventsRequest& request, RolloutFeed* feed) {
    self_ = shared_from_this();
    absl::Status status = access_->Check(authorization_);
    if (status.ok()) {
      const int64_t after = request.since_start() ? 0 : feed->latest();
      StartSendInitialMetadata();  // the client knows from it that it gets all later events
      status = feed->Watch(request.model(), after, shared_from_this());
    }
    if (!status.ok()) EndWith(status);
  }

  bool Send(const RolloutFeed::Numbered& event) override {
    absl::MutexLock lock(&mu_);
    if (finished_) return false;
    if (queue_.size() >= kMaxQueuedEvents) {
      context_->TryCancel();  // a status would wait behind the events
      return false;
    }
    queue_.push_back(event.event);
    if (queue_.size() == 1) StartWrite(&queue_.front());
    return true;
  }
  bool Beat() override {
    const absl::Status status = access_->Check(authorization_);
    if (!status.ok()) EndWith(status);
    absl::MutexLock lock(&mu_);
    return !finished_;
  }
  void End() override { EndWith(absl::UnavailableError("the server is stopping")); }

 private:
  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mu_);
    queue_.pop_front();
    if (ok && !finished_ && !queue_.empty()) StartWrite(&queue_.front());
  }
  void OnCancel() override { EndWith(absl::CancelledError()); }
  void OnDone() override { const std::shared_ptr<WatchCall> last = std::move(self_); }
  void EndWith(const absl::Status& status) {
    absl::MutexLock lock(&mu_);
    if (std::exchange(finished_, true)) return;
    Finish(ToGrpcStatus(status));
  }

  grpc::CallbackServerContext* const context_;
  const AdminAccess* const access_;
  const std::string authorization_;
  std::shared_ptr<WatchCall> self_;  // until OnDone()
  absl::Mutex mu_;
  // The first one is being written. Elements of a deque stay where they are.
  std::deque<RolloutEvent> queue_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

template <typename Response, typename Ask>
grpc::ServerUnaryReactor* AdminService::Answer(grpc::CallbackServerContext* context,
                                               Response* response, Ask ask) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  pool_->Schedule([this, context, reactor, response, ask] {
    absl::Status status = access_->Check(AuthorizationOf(*context));
    if (status.ok()) {
      absl::StatusOr<Response> answer = ask();
      status = answer.status();
      if (answer.ok()) *response = *std::move(answer);
    }
    reactor->Finish(ToGrpcStatus(status));
  });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ListRollouts(grpc::CallbackServerContext* context,
                                                     const ListRolloutsRequest*,
                                                     ListRolloutsResponse* response) {
  return Answer(context, response,
                [this]() -> absl::StatusOr<ListRolloutsResponse> { return calls_->List(); });
}

grpc::ServerUnaryReactor* AdminService::GetRollout(grpc::CallbackServerContext* context,
                                                   const RolloutRequest* request,
                                                   RolloutStatus* response) {
  return Answer(context, response, [this, request] { return calls_->Get(request->model()); });
}

grpc::ServerUnaryReactor* AdminService::Act(RolloutCalls::Action action,
                                            grpc::CallbackServerContext* context,
                                            const RolloutRequest* request,
                                            RolloutStatus* response) {
  return Answer(context, response,
                [this, action, request] { return calls_->Act(action, *request); });
}

grpc::ServerWriteReactor<RolloutEvent>* AdminService::WatchEvents(
    grpc::CallbackServerContext* context, const WatchEventsRequest* request) {
  const auto call = std::make_shared<WatchCall>(context, access_);
  call->Start(*request, feed_);
  return call.get();
}

}  // namespace tessera::serving
