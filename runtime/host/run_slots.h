// RunSlots: a fair semaphore that bounds how many long runs compute at the same time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/thread_share.h"
#include "runtime/host/fair_queue.h"
#include "runtime/host/share.h"

namespace tessera {

// Slots for long runs. Between the runs of one share, who asks first is first; between shares, time
// with a slot is divided by weight (FairQueue).
//
//   RunSlots::Turn turn(slots, share);
//   RETURN_IF_ERROR(turn.Await(nanoseconds, deadline, &cancellation));
//   executor->Run(step, run);   // parallel loops use a share of the pool's threads
//
// More long runs at the same time than there are cores would answer no request sooner: each would
// hold memory and evict the others' data from the caches. So the others wait, and those that have a
// slot divide the threads of the pool. Runs of different lengths have different slots, one set for
// each eightfold range of lengths: a run of 2 ms does not wait for a run of 1 s. A run that has a
// slot must not wait for another run.
//
// A share's only run does not wait for those of other shares: if they have all slots, it gets one
// beyond the count, up to twice the count, and the system divides the cores between the runs.
//
// Thread-safe.
class RunSlots {
 public:
  // Runs that are shorter than this need no slot.
  static constexpr int64_t kLongNanoseconds = 1'000'000;

  // `count` slots for each range of lengths.
  explicit RunSlots(int count);
  RunSlots(const RunSlots&) = delete;
  RunSlots& operator=(const RunSlots&) = delete;

  // The turn of one run. The destructor returns the slot; it must run on the thread that called
  // Await(), and turns of one thread must be nested.
  class Turn {
   public:
    // `share` may be null, and must outlive the turn.
    explicit Turn(RunSlots& slots, const Share* share = nullptr) : slots_(slots), share_(share) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Waits for a slot for a run that takes about `nanoseconds`. May be called once.
    // `cancellation` may be null. Errors: DEADLINE_EXCEEDED after `deadline`; CANCELLED.
    absl::Status Await(int64_t nanoseconds, absl::Time deadline, CancellationManager* cancellation);

   private:
    RunSlots& slots_;
    const Share* const share_;
    int range_ = 0;
    std::optional<ThreadShareScope> threads_;  // has a value while the turn has a slot
  };

  // Returns the number of runs that are waiting now.
  int num_waiting() const;

 private:
  struct Waiter {
    absl::CondVar changed;
    FairQueue<Waiter*>::Position position;  // while it has no slot
    bool has_slot = false, is_cancelled = false;
  };
  struct Range {
    int taken = 0;
    FairQueue<Waiter*> queue;
  };

  absl::Status Take(int range, const Share* share, absl::Time deadline,
                    CancellationManager* cancellation);
  absl::Status WaitForSlot(int range, const Share* share, absl::Time deadline, Waiter& waiter);
  void Give(int range, const Share* share);

  const int count_;
  mutable absl::Mutex mu_;
  std::array<Range, 4> ranges_ ABSL_GUARDED_BY(mu_);
  std::atomic<int> num_running_{0};
};

}  // namespace tessera
