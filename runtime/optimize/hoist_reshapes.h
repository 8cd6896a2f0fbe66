// Elementwise work on a product moves before the Reshape that follows it.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Layers over tensors of rank 3 reshape to a matrix, multiply, reshape back, and only then add the
// bias and apply the activation. Addition of a vector of the channels and activations commute with
// a Reshape that keeps the last dimension: they go first here, next to the MatMul, where
// fuse_post_ops finds them. Only where nobody else uses what lies between.
class HoistReshapesPass : public Pass {
 public:
  absl::string_view name() const override { return "hoist_reshapes"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
