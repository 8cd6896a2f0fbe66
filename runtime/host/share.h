// Share: whose work it is that competes for threads and slots, and how much of them it gets.
#pragma once

#include <atomic>
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

 private:
  std::atomic<int> weight_{1};
};

// The shares of a process by name. A share is never removed, so that there should be few names.
// Thread-safe.
class Shares {
 public:
  // Returns the share of a name, which the first call makes. It lives as long as this object.
  Share* Get(absl::string_view name);
  // Returns null if there was no Get() of this name.
  Share* Find(absl::string_view name) const;

 private:
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::unique_ptr<Share>> shares_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
