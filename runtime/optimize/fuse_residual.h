// Fuses the addition of a residual branch into the product before it.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Matches a MatMul, or a _FusedConv2D or _FusedMatMul that only adds a bias, followed by an Add, an
// AddV2 or an AddN with one other value, such as the sum of gradients that a loop carries, and
// possibly by an activation as in fuse_post_ops. The fused op accumulates the product into the
// memory of the other value. Operands that have to be broadcast give the same results, but more
// slowly. Requires float and that the intermediate values have no other users.
class FuseResidualPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_residual"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
