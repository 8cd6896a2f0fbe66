// The memory plans of one program.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/exec/memory_plan.h"

namespace tessera {

// Keeps the last few plans, one for each combination of argument shapes. A plan is made for shapes
// that come a second time, because many shapes, such as those of texts, never come again.
// Thread-safe.
class MemoryPlans {
 public:
  struct Choice {
    std::shared_ptr<const MemoryPlan> plan;  // null if there is none
    bool record = false;                     // the run should be recorded, and its plan added
  };
  Choice Choose(absl::Span<const Tensor> args);
  // Adds a plan, or replaces the one for the same shapes: concurrent runs may all record a plan.
  void Add(std::shared_ptr<const MemoryPlan> plan);

 private:
  // Models are called with a few batch sizes.
  static constexpr size_t kMaxPlans = 8;

  absl::Mutex mu_;
  std::vector<std::shared_ptr<const MemoryPlan>> plans_ ABSL_GUARDED_BY(mu_);  // newest first
  std::vector<size_t> seen_ ABSL_GUARDED_BY(mu_);  // hashes of shapes that came once, newest first
};

}  // namespace tessera
