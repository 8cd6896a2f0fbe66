// Share: whose work it is that competes for threads and slots, and how much of them it gets.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace tessera {

// The work of one model, say. Work without a share (null) competes as one more share of weight 1.
// Thread-safe.
class Share {
 public:
  // While shares compete, each gets places in proportion to its weight, which is at least 1.
  int weight() const { return weight_.load(std::memory_order_relaxed); }
  void set_weight(int weight) { weight_.store(weight, std::memory_order_relaxed); }

  // Count the requests that are under way: that run, or wait for a thread.
  void BeginRequest() const { under_way_.fetch_add(1, std::memory_order_relaxed); }
  void EndRequest() const { under_way_.fetch_sub(1, std::memory_order_relaxed); }
  int under_way() const { return under_way_.load(std::memory_order_relaxed); }

  // Notes that a run begins now, by a clock of nanoseconds that never goes back. It writes a few
  // times a second at most, because all threads that run the model call it.
  void NoteRun(int64_t now) const {
    constexpr int64_t kTick = 50'000'000;
    if (now - last_run_.load(std::memory_order_relaxed) >= kTick) {
      last_run_.store(now, std::memory_order_relaxed);
    }
  }
  int64_t last_run() const { return last_run_.load(std::memory_order_relaxed); }

 private:
  friend class Shares;

  std::atomic<int> weight_{1};
  mutable std::atomic<int> under_way_{0};
  mutable std::atomic<int64_t> last_run_{std::numeric_limits<int64_t>::min() / 2};
  // The last result of GivesWay(), and its time.
  mutable std::atomic<bool> gives_way_{false};
  mutable std::atomic<int64_t> looked_{std::numeric_limits<int64_t>::min() / 2};
};

// The shares of a process by name. A share is never removed, so that there should be few names.
// Thread-safe.
class Shares {
 public:
  // Returns the share of a name, which the first call makes. It lives as long as this object.
  Share* Get(absl::string_view name);
  // Returns null if there was no Get() of this name.
  Share* Find(absl::string_view name) const;

  // Whether requests of a share ought to run at a low priority: it has more than `crowd` under way,
  // and another share of at least its weight, which has no such crowd, ran within the last second.
  // `now` is that of NoteRun(). What was found counts for some milliseconds.
  bool GivesWay(const Share& share, int crowd, int64_t now) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::unique_ptr<Share>> shares_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
