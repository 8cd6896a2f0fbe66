// The addition of another branch goes into the product before it.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// _FusedConv2D or _FusedMatMul that only adds a bias, then Add or AddV2, then possibly an
// activation as in fuse_post_ops: the product is added to the other branch where that lies in
// memory, as in residual networks. Shapes that broadcast give the same results, slowly. Only float,
// and where nobody else uses what lies between.
class FuseResidualPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_residual"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
