#include "serving/frontend/grpc/calls_under_way.h"

#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>

#include <memory>

#include "absl/time/clock.h"
#include "serving/core/timer.h"

namespace tessera::serving {

// Makes the contexts of calls, and so learns when a call begins and ends. A generic context is that
// of a call of an unknown method, which gRPC answers by itself.
class CallsUnderWay::Counter final : public grpc::ContextAllocator {
 public:
  explicit Counter(std::atomic<int>* count) : count_(count) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override {
    return New<grpc::CallbackServerContext>();
  }
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override {
    return New<grpc::GenericCallbackServerContext>();
  }
  void Release(grpc::CallbackServerContext* context) override { Delete(context); }
  void Release(grpc::GenericCallbackServerContext* context) override { Delete(context); }

 private:
  template <typename Context>
  Context* New() {
    count_->fetch_add(1, std::memory_order_relaxed);
    return new Context;
  }
  template <typename Context>
  void Delete(Context* context) {
    delete context;
    count_->fetch_sub(1, std::memory_order_relaxed);
  }

  std::atomic<int>* const count_;
};

void CallsUnderWay::CountFor(grpc::ServerBuilder* builder) {
  builder->SetContextAllocator(std::make_unique<Counter>(&count_));
}

void CallsUnderWay::Shutdown(grpc::Server* server, absl::Time deadline,
                             const std::function<void()>& each_time) const {
  std::function<void()> end_what_waits;
  // A connection ends only if there was no call a while ago either, so that the client of the last
  // call has received the answer.
  bool had_none = false;
  Timer timer;  // ends first
  end_what_waits = [&] {
    each_time();
    const bool has_none = count_.load(std::memory_order_relaxed) == 0;
    if (had_none && has_none) grpc_server_cancel_all_calls(server->c_server());
    had_none = has_none;
    timer.CallAt(absl::Now() + kClientTime / 4, end_what_waits);
  };
  timer.CallAt(absl::Now() + kClientTime, end_what_waits);
  server->Shutdown(absl::ToChronoTime(deadline));
}

}  // namespace tessera::serving
