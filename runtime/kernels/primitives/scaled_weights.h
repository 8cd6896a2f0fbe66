// Weights together with the per-channel scale of a batch norm that follows the product.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The weights of a product: the float `values`, each multiplied by the element of `scale` that
// belongs to its channel. A null `scale` multiplies by 1. The channels are the last dimension, or
// the last few, and `scale` is of double. Both tensors are the caller's.
struct ScaledWeights {
  // Weights of any dtype, without a scale.
  ScaledWeights(const Tensor& values) : values(values) {}  // NOLINT(google-explicit-constructor)
  ScaledWeights(const Tensor& values, const Tensor* scale) : values(values), scale(scale) {}

  const Tensor& values;
  const Tensor* scale = nullptr;
};

// The primitive that computes the scaled weights, each rounded once, in memory that may outlive the
// step. Without a scale, or without elements, the result is `values` itself. Errors:
// RESOURCE_EXHAUSTED.
struct ScaleWeights {
  using Function = absl::StatusOr<Tensor>(KernelContext& ctx, const ScaledWeights& weights);
};

}  // namespace tessera
