// Merges nodes that compute the same value.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Eliminates common subexpressions: of several pure nodes with the same op, attributes, inputs,
// control inputs and device, only one is kept. The order of inputs does not matter if the op is
// commutative. Attributes whose names start with '_' are ignored, except for `_kernel`. Large
// constants count as equal only if they share memory.
class MergeDuplicatesPass : public Pass {
 public:
  absl::string_view name() const override { return "merge_duplicates"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
