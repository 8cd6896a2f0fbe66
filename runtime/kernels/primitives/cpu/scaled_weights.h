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

// Returns the scaled weights, each rounded once, or `weights.values` if there is no scale. The
// step's threads share the work. Errors: RESOURCE_EXHAUSTED, from `allocator`.
absl::StatusOr<Tensor> ApplyScale(KernelContext& ctx, const ScaledWeights& weights,
                                  Allocator* allocator);

// Returns row `row`, of `channels` elements, of the scaled weights. The result is in `scratch`, or
// in the weights themselves if there is no scale.
const float* ScaledRow(const ScaledWeights& weights, int64_t row, int64_t channels, float* scratch);

}  // namespace tessera
