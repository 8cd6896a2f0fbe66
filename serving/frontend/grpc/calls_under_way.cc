#include "serving/frontend/grpc/calls_under_way.h"

#include <grpc/grpc.h>

#include <memory>

#include "absl/time/clock.h"
#include "serving/core/timer.h"

namespace tessera::serving {

// Makes the contexts of calls, and so learns when a call begins and ends.
class CallsUnderWay::Counter final : public grpc::ContextAllocator {
 public:
  explicit Counter(std::atomic<int>* count) : count_(count) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override {
    count_->fetch_add(1, std::memory_order_relaxed);
    return new grpc::CallbackServerContext;
  }
  void Release(grpc::CallbackServerContext* context) override {
    delete context;
    count_->fetch_sub(1, std::memory_order_relaxed);
  }

 private:
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
