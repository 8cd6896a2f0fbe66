// Constant additions in a row become one.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// After MatMul, Conv2D or DepthwiseConv2dNative, two additions (BiasAdd, Add, AddV2; the second may
// be Sub) of constant float vectors of the channels become one BiasAdd, which may then be fused.
// Keras writes a convolution with a bias and batch norm so, once the product is in the weights.
// Only where nobody else uses what lies between.
class MergeBiasesPass : public Pass {
 public:
  absl::string_view name() const override { return "merge_biases"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
