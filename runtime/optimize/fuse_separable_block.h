// Depthwise convolutions with the pointwise ones about them become one op.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Convolutions with biases, as fuse_post_ops and fuse_residual leave them:
//   depthwise -> 1x1 of up to a mebibyte, as in MobileNetV1,
//   1x1 -> depthwise -> 1x1 [-> + what the first one reads], as in MobileNetV2,
// become _SeparableBlock, which keeps what lies between them in the cache. Only float images in
// NHWC with constant filters, a finite one with one output a channel of the depthwise convolution,
// and strides in it alone, where Relu, Relu6 or nothing follows each, and where nobody else uses
// what lies between.
class FuseSeparableBlockPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_separable_block"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
