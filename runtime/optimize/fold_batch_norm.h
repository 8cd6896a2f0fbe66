// Folds the scale and the offset of a batch normalization into the weights and the bias before it.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Matches a MatMul, Conv2D or DepthwiseConv2dNative with constant weights and possibly a constant
// bias. Folds into its weights and bias one of these nodes after it:
// - FusedBatchNorm, V2 or V3 in inference mode with constant parameters;
// - a multiplication by a constant with one element for each channel, which is how Keras writes
//   batch normalization (the addition that follows is a bias).
// The new weights of a Conv2D are a _ScaleWeights node, which absorb_scales looks for; those of the
// other ops are a constant. Requires float, channels last, and that the intermediate values have no
// other users.
class FoldBatchNormPass : public Pass {
 public:
  absl::string_view name() const override { return "fold_batch_norm"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
