// The memory plans of one program.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/exec/memory_plan.h"

namespace tessera {

// Keeps the last few plans, one for each set of shapes that arguments came in. A plan is worth
// making for shapes that come again: texts of all lengths seldom do. Thread-safe.
class MemoryPlans {
 public:
  struct Choice {
    std::shared_ptr<const MemoryPlan> plan;  // null if there is none
    bool record = false;                     // the run should be recorded, and its plan added
  };
  Choice Choose(absl::Span<const Tensor> args);
  // Takes the place of a plan for the same shapes: runs at once may all record theirs.
  void Add(std::shared_ptr<const MemoryPlan> plan);

 private:
  // Models are called in a few batch sizes.
  static constexpr size_t kMaxPlans = 8;

  absl::Mutex mu_;
  std::vector<std::shared_ptr<const MemoryPlan>> plans_ ABSL_GUARDED_BY(mu_);  // newest first
  std::vector<size_t> seen_ ABSL_GUARDED_BY(mu_);  // hashes of shapes that came once, newest first
};

}  // namespace tessera
