// A cache of the plans that a kernel derived from the shapes of its runs.
#pragma once

#include <atomic>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace tessera {

// Keeps the plans of one kernel: the chosen algorithm, the chunks, the primitives. A Plan has a
// member IsFor(), which tells whether it is the plan for a problem.
//
//   if (const Plan* plan = plans_.Find(shape, post_ops)) return Run(*plan);
//   ASSIGN_OR_RETURN(const Plan plan, MakePlan(shape, post_ops));
//   plans_.Insert(plan);
//   return Run(plan);
//
// The first kCapacity plans are kept as long as the cache. Later ones are made anew in each run, so
// that a kernel whose shapes change all the time takes no more memory.
//
// Thread-safe. Find() takes no lock.
template <typename Plan>
class PlanCache {
 public:
  static constexpr int kCapacity = 8;

  PlanCache() = default;
  ~PlanCache() {
    const Node* node = newest_.load(std::memory_order_relaxed);
    while (node != nullptr) delete std::exchange(node, node->older);
  }
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // Returns the plan for a problem, or null if none is kept. It lives as long as the cache.
  template <typename... Problem>
  const Plan* Find(const Problem&... problem) const {
    const Node* node = newest_.load(std::memory_order_acquire);
    while (node != nullptr && !node->plan.IsFor(problem...)) node = node->older;
    return node == nullptr ? nullptr : &node->plan;
  }

  // Keeps a plan if there is room. Two threads may keep a plan for the same problem, and Find()
  // returns either of them.
  void Insert(const Plan& plan) {
    absl::MutexLock lock(&mu_);
    if (size_ == kCapacity) return;
    ++size_;
    newest_.store(new Node{plan, newest_.load(std::memory_order_relaxed)},
                  std::memory_order_release);
  }

 private:
  struct Node {
    const Plan plan;
    const Node* const older;
  };

  std::atomic<const Node*> newest_{nullptr};
  absl::Mutex mu_;
  int size_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tessera
