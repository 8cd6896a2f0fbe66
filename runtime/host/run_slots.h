// RunSlots: a fair semaphore that bounds how many long runs compute at the same time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <optional>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/thread_share.h"

namespace tessera {

// Slots for long runs, in the order in which the runs ask.
//
//   RunSlots::Turn turn(slots);
//   RETURN_IF_ERROR(turn.Await(nanoseconds, deadline, &cancellation));
//   executor->Run(step, run);   // parallel loops use a share of the pool's threads
//
// More long runs at the same time than there are cores would answer no request sooner: each would
// hold memory and evict the others' data from the caches. So the others wait, and those that have a
// slot divide the threads of the pool. Runs of different lengths have different slots, one set for
// each eightfold range of lengths: a run of 2 ms does not wait for a run of 1 s. A run that has a
// slot must not wait for another run.
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
    explicit Turn(RunSlots& slots) : slots_(slots) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Waits for a slot for a run that takes about `nanoseconds`. May be called once.
    // `cancellation` may be null. Errors: DEADLINE_EXCEEDED after `deadline`; CANCELLED.
    absl::Status Await(int64_t nanoseconds, absl::Time deadline, CancellationManager* cancellation);

   private:
    RunSlots& slots_;
    int range_ = 0;
    std::optional<ThreadShareScope> share_;  // has a value while the turn has a slot
  };

  // Returns the number of runs that are waiting now.
  int num_waiting() const;

 private:
  struct Waiter {
    absl::CondVar changed;
    bool has_slot = false, is_cancelled = false;
  };
  struct Range {
    int free = 0;
    std::list<Waiter*> waiting;
  };

  absl::Status Take(int range, absl::Time deadline, CancellationManager* cancellation);
  absl::Status WaitForSlot(int range, absl::Time deadline, Waiter& waiter);
  void Give(int range);

  mutable absl::Mutex mu_;
  std::array<Range, 4> ranges_ ABSL_GUARDED_BY(mu_);
  std::atomic<int> num_running_{0};
};

}  // namespace tessera
