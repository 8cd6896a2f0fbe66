// Merges consecutive additions of constants into one.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Matches a MatMul, Conv2D or DepthwiseConv2dNative, followed by two additions (BiasAdd, Add or
// AddV2; the second may be a Sub) of constant float vectors with one element for each channel.
// Replaces the additions by one BiasAdd, which fuse_post_ops may then fuse. A convolution with a
// bias and a batch normalization of Keras has this form once the scale is folded into the weights.
// Requires that the intermediate values have no other users.
class MergeBiasesPass : public Pass {
 public:
  absl::string_view name() const override { return "merge_biases"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
