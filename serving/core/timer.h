// Timer: calls closures at their times.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tessera::serving {

// One thread calls all closures, which therefore must be short. It is started by the first call, or
// by a later one if the system has no thread.
// Thread-safe.
class Timer {
 public:
  using Token = int64_t;

  Timer() = default;
  // Waits for a closure that runs now. Drops all others, and those that it adds.
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Calls `closure` soon after `time`, which may have passed, unless it is cancelled before.
  Token CallAt(absl::Time time, std::function<void()> closure);
  // Drops the closure of a CallAt() of this time. It may be running now, or have run; this does not
  // wait for it.
  void Cancel(absl::Time time, Token token);

 private:
  void Run();

  absl::Mutex mu_;
  absl::CondVar earliest_changed_;
  // The callbacks by time, and then in order of the calls.
  absl::btree_map<std::pair<absl::Time, Token>, std::function<void()>> closures_
      ABSL_GUARDED_BY(mu_);
  Token next_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving
