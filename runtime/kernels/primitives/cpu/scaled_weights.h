// Scaled weights on the CPU.
#pragma once

#include "runtime/kernels/primitives/scaled_weights.h"

namespace tessera {

// Returns the scaled weights, each rounded once, or `weights.values` if there is no scale. The
// step's threads share the work. Errors: RESOURCE_EXHAUSTED, from `allocator`.
absl::StatusOr<Tensor> ApplyScale(KernelContext& ctx, const ScaledWeights& weights,
                                  Allocator* allocator);

// Returns row `row`, of `channels` elements, of the scaled weights. The result is in `scratch`, or
// in the weights themselves if there is no scale.
const float* ScaledRow(const ScaledWeights& weights, int64_t row, int64_t channels, float* scratch);

}  // namespace tessera
