// Bias and activation go into the product that they follow.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// MatMul, Conv2D or DepthwiseConv2dNative, then BiasAdd (or the addition of a vector of the
// channels), then possibly Relu, Relu6, Elu, LeakyRelu, Tanh, Sigmoid or
// _Gelu: one node, _FusedMatMul,
// _FusedConv2D or _FusedDepthwiseConv2dNative, that touches its output once. Only where the device
// has a kernel for it, and nobody else uses what lies between.
class FusePostOpsPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_post_ops"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
