// Moves a bias and an activation from behind a Reshape to the product before it.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// A dense layer over a tensor of rank 3 reshapes it to a matrix, multiplies, reshapes back, and
// only then adds the bias and applies the activation. A convolution over series squeezes images of
// one row before it does so. Both commute with a Reshape or Squeeze that keeps the last dimension.
// This pass puts them before it, next to the MatMul or Conv2D, where fuse_post_ops matches them.
// Requires that the intermediate values have no other users.
class HoistReshapesPass : public Pass {
 public:
  absl::string_view name() const override { return "hoist_reshapes"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
