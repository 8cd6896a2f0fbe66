// Layer normalisation from its pieces becomes one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// With mean and variance (Mean of SquaredDifference) over the last dimension of x, float:
//   x * s + (beta - mean * s)   or   x * s + (-mean * s + beta),   s = rsqrt(variance + e) * gamma
// become _LayerNorm; if x is a sum that nobody else uses, _LayerNorm adds as well. gamma and beta
// are vectors, whose length is known before the run.
// Source: Ba, Kiros and Hinton, Layer Normalization, arXiv:1607.06450.
class FuseLayerNormPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_layer_norm"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
