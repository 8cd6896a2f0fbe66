#include "runtime/data/background.h"

#include <utility>

#include "runtime/base/status.h"

namespace tessera {

BackgroundStep::BackgroundStep(const StepContext& first)
    : context_(first),
      pool_(first.inter_op_pool != nullptr ? first.inter_op_pool : first.intra_op_pool) {
  context_.step_resources = &resources_;
  context_.cancellation = &cancellation_;
  context_.rendezvous = nullptr;
  context_.deadline = absl::InfiniteFuture();
}

absl::Status AwaitInStep(const StepContext& step, absl::Mutex& mu,
                         absl::FunctionRef<bool()> condition) {
  if (condition()) return absl::OkStatus();
  std::atomic<bool> cancelled{false};
  CancellationManager::Token token = 0;
  const auto wake = [&] {
    absl::MutexLock lock(&mu);  // so that waiters look at their conditions again
    cancelled.store(true);
  };
  mu.Unlock();
  const bool registered = step.cancellation != nullptr && step.cancellation->Register(wake, &token);
  mu.Lock();
  if (step.cancellation != nullptr && !registered) {
    return absl::CancelledError("the step was cancelled");
  }
  const auto awake = [&] { return cancelled.load() || condition(); };
  const bool in_time = mu.AwaitWithDeadline(absl::Condition(&awake), step.deadline);
  const bool holds = condition();
  if (registered) {
    // The callback takes the lock, and may be about to.
    mu.Unlock();
    step.cancellation->Deregister(token);
    mu.Lock();
  }
  if (holds) return absl::OkStatus();
  if (!in_time) return absl::DeadlineExceededError("the step ran longer than its timeout");
  return absl::CancelledError("the step was cancelled");
}

void ClaimableTask::Offer(const std::shared_ptr<ClaimableTask>& task, ThreadPool* pool) {
  if (pool == nullptr) return;
  pool->Schedule([task] {
    if (task->Claim()) task->Run();
  });
}

bool ClaimableTask::Claim() {
  absl::MutexLock lock(&mu_);
  if (state_ != State::kWaiting) return false;
  state_ = State::kRunning;
  return true;
}

void ClaimableTask::Run() {
  work_();
  work_ = nullptr;
  absl::MutexLock lock(&mu_);
  state_ = State::kDone;
}

absl::Status ClaimableTask::Finish(const StepContext& step) {
  if (Claim()) {
    Run();
    return absl::OkStatus();
  }
  absl::MutexLock lock(&mu_);
  return AwaitInStep(step, mu_,
                     [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return state_ == State::kDone; });
}

void ClaimableTask::Abandon() {
  absl::MutexLock lock(&mu_);
  if (state_ == State::kWaiting) state_ = State::kDone;
  mu_.Await(absl::Condition(
      +[](State* state) { return *state == State::kDone; }, &state_));
}

}  // namespace tessera
