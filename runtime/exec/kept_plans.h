// Plans of a graph that sessions with other values of its variables use again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/exec/planner.h"
#include "runtime/optimize/derived_constants.h"

namespace tessera {

// The plans of one graph, for runs and functions, without the values of constants that are derived
// from variables. All sessions that use it are on that graph, have one CPU and no other device,
// freeze the same variables, and have the same optimizer options. Thread-safe.
class KeptPlans {
 public:
  using IsFrozen = std::function<bool(const Node& variable)>;

  // Returns the predicate that tells which variables the sessions freeze; null before the first
  // call of SetFrozen().
  std::shared_ptr<const IsFrozen> frozen() const;
  void SetFrozen(std::shared_ptr<const IsFrozen> frozen);

  // Returns the plan of this key with constants for the variables in `resources`.
  // Errors: NOT_FOUND if there is none; those of DerivedConstants::Evaluate(), which mean that a
  // plan for these values may look otherwise.
  absl::StatusOr<Plan> Find(const std::string& key, const ResourceManager& resources,
                            const DerivedConstants::Host& host) const;
  // Does nothing for a plan that Find() has returned.
  void Keep(const std::string& key, Plan plan);

 private:
  mutable absl::Mutex mu_;
  std::shared_ptr<const IsFrozen> frozen_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::shared_ptr<const Plan>> plans_ ABSL_GUARDED_BY(mu_);
};

// Returns the plan that `options.reuse` has for `key`, or makes one of `input()`. An empty key
// means that nothing is kept. Errors: those of `input` and of MakePlan().
absl::StatusOr<Plan> FindOrMakePlan(const std::string& key, const PlanOptions& options,
                                    absl::FunctionRef<absl::StatusOr<PlanInput>()> input);

// Keeps a plan, which has been compiled and is not needed any more, if `options.reuse` says so.
void KeepPlan(const std::string& key, const PlanOptions& options, Plan plan);

// Returns the key under which the plan of a run or a function is kept, for sessions with these
// options.
std::string PlanKey(absl::string_view what, const PlanOptions& options);

}  // namespace tessera
