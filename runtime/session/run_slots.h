// Turns of long runs: no more at a time than there are cores.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <optional>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/thread_share.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Slots for runs that take long, handed out first come, first served.
//
//   RunSlots::Turn turn(RunSlots::OfProcess());
//   RETURN_IF_ERROR(turn.Await(step, nanoseconds));
//   executor->Run(step, run);   // loops take a share of the pool's threads
//
// More of them at once would answer none sooner: each would hold memory, and take the caches from
// the others. So the others wait, and those that run divide the pool's threads between them. A run
// waits only for runs of about its own length, for each eightfold range of lengths has slots of its
// own: one of two milliseconds does not wait for one of a second. Who has a slot must not wait for
// what another run does.
// Thread-safe.
class RunSlots {
 public:
  // Shorter runs need no slot.
  static constexpr int64_t kLongNanoseconds = 1'000'000;

  // `count` slots for each range of lengths.
  explicit RunSlots(int count);
  RunSlots(const RunSlots&) = delete;
  RunSlots& operator=(const RunSlots&) = delete;
  // One slot a core. Shared by all sessions.
  static RunSlots& OfProcess();

  // The turn of one run, on one thread, where turns nest. Gives its slot back when it dies.
  class Turn {
   public:
    explicit Turn(RunSlots& slots) : slots_(slots) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Waits for a slot for a run that takes about `nanoseconds`. To be called once.
    // Errors: CANCELLED, DEADLINE_EXCEEDED if that happens to the step while it waits.
    absl::Status Await(StepContext& step, int64_t nanoseconds);

   private:
    RunSlots& slots_;
    int range_ = 0;
    std::optional<ThreadShareScope> share_;  // while there is a slot
  };

  // How many runs wait now.
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

  absl::Status Take(StepContext& step, int range);
  absl::Status WaitForSlot(StepContext& step, int range, Waiter& waiter);
  void Give(int range);

  mutable absl::Mutex mu_;
  std::array<Range, 4> ranges_ ABSL_GUARDED_BY(mu_);
  std::atomic<int> num_running_{0};
};

}  // namespace tessera
