// Fuses a depthwise convolution and the pointwise convolutions around it into one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces these chains of convolutions with biases, as fuse_post_ops and fuse_residual leave them,
// by _SeparableBlock, which keeps the intermediate images in the cache:
//   depthwise -> 1x1, with a 1x1 filter of up to 1 MiB, as in MobileNetV1
//   1x1 -> depthwise -> 1x1 [-> addition of the input of the first 1x1], as in MobileNetV2
// Requires float images in NHWC and constant filters. The depthwise filter must be finite and have
// one output for each channel; only the depthwise convolution may have strides. Each convolution
// may be followed by Relu or Relu6. The intermediate values must have no other users.
class FuseSeparableBlockPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_separable_block"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
