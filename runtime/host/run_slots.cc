#include "runtime/host/run_slots.h"

#include <chrono>
#include <tuple>

namespace tessera {
namespace {

int64_t Now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

RunSlots::RunSlots(int count) : count_(count) {}

RunSlots::Turn::~Turn() {
  if (threads_.has_value()) slots_.Give(range_, share_);
}

absl::Status RunSlots::Turn::Await(int64_t nanoseconds, absl::Time deadline,
                                   CancellationManager* cancellation) {
  constexpr int kLastRange = std::tuple_size_v<decltype(ranges_)> - 1;
  for (int64_t length = nanoseconds / kLongNanoseconds; length >= 8 && range_ < kLastRange;) {
    length /= 8;
    ++range_;
  }
  if (absl::Status status = slots_.Take(range_, share_, deadline, cancellation); !status.ok())
    return status;
  threads_.emplace(&slots_.num_running_);
  return absl::OkStatus();
}

int RunSlots::num_waiting() const {
  absl::MutexLock lock(&mu_);
  size_t waiting = 0;
  for (const Range& range : ranges_) waiting += range.queue.size();
  return static_cast<int>(waiting);
}

absl::Status RunSlots::Take(int range, const Share* share, absl::Time deadline,
                            CancellationManager* cancellation) {
  Waiter waiter;
  {
    absl::MutexLock lock(&mu_);
    Range& own = ranges_[range];
    const int limit = own.queue.IsIdle(share) ? 2 * count_ : count_;
    if (own.taken < limit) {
      ++own.taken;
      own.queue.Take(share, Now());
      num_running_.fetch_add(1, std::memory_order_relaxed);
      return absl::OkStatus();
    }
    waiter.position = own.queue.Push(share, &waiter, Now());
  }
  const auto cancel = [&] {
    absl::MutexLock lock(&mu_);
    waiter.is_cancelled = true;
    waiter.changed.Signal();
  };
  CancellationManager::Token token = 0;
  const bool registered = cancellation != nullptr && cancellation->Register(cancel, &token);
  if (cancellation != nullptr && !registered) cancel();
  const absl::Status status = WaitForSlot(range, share, deadline, waiter);
  if (registered) cancellation->Deregister(token);
  return status;
}

absl::Status RunSlots::WaitForSlot(int range, const Share* share, absl::Time deadline,
                                   Waiter& waiter) {
  absl::MutexLock lock(&mu_);
  bool timed_out = false;
  while (!waiter.has_slot && !waiter.is_cancelled && !timed_out) {
    timed_out = waiter.changed.WaitWithDeadline(&mu_, deadline);
  }
  if (waiter.has_slot) return absl::OkStatus();
  ranges_[range].queue.Remove(share, waiter.position);
  if (waiter.is_cancelled) {
    return absl::CancelledError("the step was cancelled while it waited for its turn");
  }
  return absl::DeadlineExceededError("the step waited for its turn longer than its timeout");
}

void RunSlots::Give(int range, const Share* share) {
  absl::MutexLock lock(&mu_);
  Range& own = ranges_[range];
  const int64_t now = Now();
  own.queue.Give(share, now);
  if (own.queue.empty() || (own.taken > count_ && !own.queue.NextHoldsNone(now))) {
    --own.taken;
    num_running_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  // The slot goes over: whoever comes now stands behind those that wait.
  Waiter* const next = own.queue.Pop(now).second;
  next->has_slot = true;
  next->changed.Signal();
}

}  // namespace tessera
