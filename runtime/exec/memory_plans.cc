#include "runtime/exec/memory_plans.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace tessera {
namespace {

size_t HashOfShapes(absl::Span<const Tensor> args) {
  size_t hash = args.size();
  for (const Tensor& arg : args) hash = absl::HashOf(hash, arg.shape().dims());
  return hash;
}

}  // namespace

MemoryPlans::Choice MemoryPlans::Choose(absl::Span<const Tensor> args) {
  absl::MutexLock lock(&mu_);
  for (const auto& plan : plans_) {
    if (plan->Fits(args)) return {.plan = plan};
  }
  // A collision of hashes only makes a run record its plan too early.
  const size_t hash = HashOfShapes(args);
  const auto seen = std::find(seen_.begin(), seen_.end(), hash);
  if (seen != seen_.end()) {
    seen_.erase(seen);
    return {.record = true};
  }
  seen_.insert(seen_.begin(), hash);
  if (seen_.size() > kMaxPlans) seen_.pop_back();
  return {};
}

void MemoryPlans::Add(std::shared_ptr<const MemoryPlan> plan) {
  absl::MutexLock lock(&mu_);
  plans_.erase(std::remove_if(plans_.begin(), plans_.end(),
                              [&](const auto& other) { return other->shapes() == plan->shapes(); }),
               plans_.end());
  plans_.insert(plans_.begin(), std::move(plan));
  if (plans_.size() > kMaxPlans) plans_.pop_back();
}

}  // namespace tessera
