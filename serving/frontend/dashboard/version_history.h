// VersionHistory: the latest state changes and loads of all models.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "serving/core/load_report.h"
#include "serving/core/servable_state.h"

namespace tessera::serving {

// Keeps the latest entries of both kinds, and forgets the oldest ones. Thread-safe; the calls that
// add take a lock for a moment, and may be made by ServableEventBus and by the manager.
class VersionHistory {
 public:
  static constexpr size_t kMaxStates = 1000;
  static constexpr size_t kMaxLoads = 200;

  struct Load {
    uint64_t number;  // among all loads, counted from 1
    LoadReport report;
  };

  void Add(const ServableState& state);
  void Add(const LoadReport& report);

  // Oldest first.
  std::vector<ServableState> states() const;
  std::vector<Load> loads() const;
  // Returns a number that grows with each entry added.
  uint64_t revision() const;

 private:
  mutable absl::Mutex mu_;
  std::deque<ServableState> states_ ABSL_GUARDED_BY(mu_);
  std::deque<Load> loads_ ABSL_GUARDED_BY(mu_);
  uint64_t num_states_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t num_loads_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tessera::serving
