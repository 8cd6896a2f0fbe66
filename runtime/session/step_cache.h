// A cache of compiled steps, by signature.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/session/compiled_step.h"

namespace tessera {

// A compiled step for callers that list the feeds and fetches in one particular order. The step
// itself has them sorted by name, so that all orders share it.
struct OrderedStep {
  std::shared_ptr<const CompiledStep> step;
  std::vector<int> feeds;    // feeds[i] is the position in the step of the caller's feed i
  std::vector<int> fetches;  // likewise for the fetches
  bool same_order = false;   // whether the caller's order is that of the step
};

// Returns equal strings exactly for equal signatures: callers may send anything for a name.
std::string KeyOf(const RunSignature& signature);

// Thread-safe. Finding a cached step takes a reader lock. Steps are compiled one at a time, so that
// two callers never compile the same one.
class StepCache {
 public:
  using Compile =
      std::function<absl::StatusOr<std::shared_ptr<const CompiledStep>>(const RunSignature&)>;

  // Returns the step for `signature`, and compiles it if the cache does not have it. Errors: those
  // of `compile`, which are not cached.
  absl::StatusOr<std::shared_ptr<const OrderedStep>> FindOrCompile(const RunSignature& signature,
                                                                   const Compile& compile);

 private:
  // The largest number of orders that are cached; further ones are worked out again for each run.
  static constexpr size_t kMaxOrders = 10000;

  std::shared_ptr<const OrderedStep> Find(const std::string& key) const;

  absl::Mutex compile_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<const OrderedStep>> by_order_
      ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::shared_ptr<const CompiledStep>> by_names_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
