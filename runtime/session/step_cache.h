// Compiled steps by signature.
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

// A compiled step as one caller names its feeds and fetches: the step has them in sorted order, so
// that all orders share it.
struct OrderedStep {
  std::shared_ptr<const CompiledStep> step;
  std::vector<int> feeds;    // feeds[i]: the step's position of the caller's feed i
  std::vector<int> fetches;  // likewise
  bool same_order = false;   // nothing to reorder
};

// Thread-safe. Finding a step that exists takes a reader lock; steps are compiled one at a time, so
// that two callers do not compile the same one.
class StepCache {
 public:
  using Compile =
      std::function<absl::StatusOr<std::shared_ptr<const CompiledStep>>(const RunSignature&)>;

  // The step for `signature`, compiled if there is none. Errors: those of `compile`, which are not
  // kept.
  absl::StatusOr<std::shared_ptr<const OrderedStep>> FindOrCompile(const RunSignature& signature,
                                                                   const Compile& compile);

 private:
  // Beyond this, further orders of the same names are not kept: they are cheap to work out again.
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
