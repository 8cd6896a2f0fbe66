// Fuses a bias and an activation into the product before them.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Matches a MatMul, a BatchMatMulV2 by one matrix, a Conv2D or DepthwiseConv2dNative, followed by a
// BiasAdd (or the addition of a vector with one element for each channel), and possibly by a Relu,
// Relu6, Elu, LeakyRelu, Tanh, Sigmoid or _Gelu, or by the nodes of a swish, x * sigmoid(x).
// Replaces them by one _FusedMatMul, _FusedBatchMatMulV2, _FusedConv2D or
// _FusedDepthwiseConv2dNative, which writes its output once. Requires that the device has a kernel
// for the fused op and that the intermediate values have no other users. Leaves half on CPUs alone,
// whose intermediate values TensorFlow rounds.
class FusePostOpsPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_post_ops"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
