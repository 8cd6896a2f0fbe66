// Scaling by constants goes into the constant weights before it.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// After a MatMul, Conv2D or DepthwiseConv2dNative with constant weights, and possibly a constant
// bias, these become part of weights and bias:
// - FusedBatchNorm, V2 or V3 in inference mode with constant parameters;
// - the multiplication by a constant vector of the channels, as Keras writes batch norm (the
//   addition that follows is a bias).
// The weights of a Conv2D become a _ScaleWeights, for absorb_scales, those of others a constant.
// Only float, with channels last, and where nobody else uses what lies between.
class FoldBatchNormPass : public Pass {
 public:
  absl::string_view name() const override { return "fold_batch_norm"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
