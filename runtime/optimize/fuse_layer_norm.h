// Fuses the nodes of a layer normalization into one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces these float expressions by _LayerNorm, where mean and variance (a Mean of
// SquaredDifference) are taken over the last dimension of x, and s = rsqrt(variance + e) * gamma:
//   x * s + (beta - mean * s)
//   x * s + (-mean * s + beta)
//   (x - mean) * s + beta, its factors in any order, the variance perhaps a Mean of Square
// gamma and beta must be vectors whose length is known before the run. If x is a sum without other
// users, the _LayerNorm computes the sum as well.
// Source: Ba, Kiros and Hinton, Layer Normalization, arXiv:1607.06450.
class FuseLayerNormPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_layer_norm"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera
