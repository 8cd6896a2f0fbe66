// YieldGate: how yielding work (yielding.h) keeps off the cores that preferred work needs.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace tessera {

// A low priority alone is not enough for this. The system's scheduler may give a core to a thread
// of low priority whenever some short-lived thread has taken it from another one, and takes it back
// at the next tick of its clock only, up to 4 ms later.
//
//   gate.BeginPreferred();    // a request that makes nobody wait
//   gate.EndPreferred();
//
//   for (Piece& piece : work) {   // on a thread of low priority
//     gate.Pass();
//     piece.Run();
//   }
//   gate.Leave();
//
// While preferred requests are under way, and a moment longer, yielding threads have only the cores
// that are left when each of those requests has one, and so has each thread that helps with their
// loops. The others sleep in Pass(), for nine times as long as they have worked since they last
// slept, so that they keep a tenth of a core each. Who has a core offers it to whoever waits for
// it.
//
// Thread-safe.
class YieldGate {
 public:
  explicit YieldGate(int num_cores) : num_cores_(num_cores) {}
  YieldGate(const YieldGate&) = delete;
  YieldGate& operator=(const YieldGate&) = delete;

  void BeginPreferred() { num_preferred_.fetch_add(1, std::memory_order_relaxed); }
  void EndPreferred();

  // Returns when the calling thread may go on with its yielding work for a tenth of a
  // millisecond. A thread may use one gate at a time.
  void Pass();
  // The calling thread has no more yielding work at present. May be called without a Pass().
  void Leave();

 private:
  // Takes a core if one is left.
  bool TakeCore();
  // Waits until a core may be left, `nanoseconds` at most.
  void AwaitCore(int64_t nanoseconds) ABSL_LOCKS_EXCLUDED(mu_);
  void WakeOne() ABSL_LOCKS_EXCLUDED(mu_);
  // Returns for how long preferred requests will count at least; 0 if they do not now.
  int64_t PreferredFor(int64_t now) const;

  const int num_cores_;
  std::atomic<int> num_preferred_{0};
  std::atomic<int64_t> last_end_{INT64_MIN / 2};  // of a preferred request
  std::atomic<int> num_taken_{0};                 // cores that yielding threads have
  std::atomic<int> num_waiting_{0};
  absl::Mutex mu_;
  absl::CondVar core_left_;
};

}  // namespace tessera
