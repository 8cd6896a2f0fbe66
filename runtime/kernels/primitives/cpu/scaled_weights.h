// Weights with what a batch norm after the product multiplies its channels by.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// What a product multiplies by: the float `values`, each times the element of `scale` that belongs
// to its channel, if `scale` is not null. Channels are the last dimension, or the last few, and
// `scale` is of double. Both are the caller's.
struct ScaledWeights {
  // Of any dtype, as they are.
  ScaledWeights(const Tensor& values) : values(values) {}  // NOLINT(google-explicit-constructor)
  ScaledWeights(const Tensor& values, const Tensor* scale) : values(values), scale(scale) {}

  const Tensor& values;
  const Tensor* scale = nullptr;
};

// The products, each rounded once; `weights.values` themselves where nothing scales them. The
// step's threads share the work. Errors: RESOURCE_EXHAUSTED, from `allocator`.
absl::StatusOr<Tensor> Multiply(KernelContext& ctx, const ScaledWeights& weights,
                                Allocator* allocator);

// Row `row` of these products, of an element for each of `channels`: where the weights lie if
// nothing scales them, else in `scratch`.
const float* MultipliedRow(const ScaledWeights& weights, int64_t row, int64_t channels,
                           float* scratch);

}  // namespace tessera
