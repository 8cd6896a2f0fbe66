#include "runtime/host/run_slots.h"

#include <tuple>

namespace tessera {

RunSlots::RunSlots(int count) {
  absl::MutexLock lock(&mu_);
  for (Range& range : ranges_) range.free = count;
}

RunSlots::Turn::~Turn() {
  if (share_.has_value()) slots_.Give(range_);
}

absl::Status RunSlots::Turn::Await(int64_t nanoseconds, absl::Time deadline,
                                   CancellationManager* cancellation) {
  constexpr int kLastRange = std::tuple_size_v<decltype(ranges_)> - 1;
  for (int64_t length = nanoseconds / kLongNanoseconds; length >= 8 && range_ < kLastRange;) {
    length /= 8;
    ++range_;
  }
  if (absl::Status status = slots_.Take(range_, deadline, cancellation); !status.ok())
    return status;
  share_.emplace(&slots_.num_running_);
  return absl::OkStatus();
}

int RunSlots::num_waiting() const {
  absl::MutexLock lock(&mu_);
  size_t waiting = 0;
  for (const Range& range : ranges_) waiting += range.waiting.size();
  return static_cast<int>(waiting);
}

absl::Status RunSlots::Take(int range, absl::Time deadline, CancellationManager* cancellation) {
  Waiter waiter;
  {
    absl::MutexLock lock(&mu_);
    Range& own = ranges_[range];
    if (own.free > 0) {
      --own.free;
      num_running_.fetch_add(1, std::memory_order_relaxed);
      return absl::OkStatus();
    }
    own.waiting.push_back(&waiter);
  }
  const auto cancel = [&] {
    absl::MutexLock lock(&mu_);
    waiter.is_cancelled = true;
    waiter.changed.Signal();
  };
  CancellationManager::Token token = 0;
  const bool registered = cancellation != nullptr && cancellation->Register(cancel, &token);
  if (cancellation != nullptr && !registered) cancel();
  absl::Status status = WaitForSlot(range, deadline, waiter);
  if (registered) cancellation->Deregister(token);
  return status;
}

absl::Status RunSlots::WaitForSlot(int range, absl::Time deadline, Waiter& waiter) {
  absl::MutexLock lock(&mu_);
  bool timed_out = false;
  while (!waiter.has_slot && !waiter.is_cancelled && !timed_out) {
    timed_out = waiter.changed.WaitWithDeadline(&mu_, deadline);
  }
  if (waiter.has_slot) return absl::OkStatus();
  ranges_[range].waiting.remove(&waiter);
  if (waiter.is_cancelled) {
    return absl::CancelledError("the step was cancelled while it waited for its turn");
  }
  return absl::DeadlineExceededError("the step waited for its turn longer than its timeout");
}

void RunSlots::Give(int range) {
  absl::MutexLock lock(&mu_);
  Range& own = ranges_[range];
  if (own.waiting.empty()) {
    ++own.free;
    num_running_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  // The slot goes over: whoever comes now stands behind those that wait.
  Waiter* const next = own.waiting.front();
  own.waiting.pop_front();
  next->has_slot = true;
  next->changed.Signal();
}

}  // namespace tessera
