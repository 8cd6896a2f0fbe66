// Nodes that compute the same.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Common subexpressions: of pure nodes with the same op, attributes, inputs (in any order if the op
// is commutative), control inputs and device, one stays. Attributes of the system, whose names
// start with '_', do not count, but `_kernel` does. Large constants are the same if they share
// memory.
class MergeDuplicatesPass : public Pass {
 public:
  absl::string_view name() const override { return "merge_duplicates"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
