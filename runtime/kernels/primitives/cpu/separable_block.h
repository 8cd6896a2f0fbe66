// Depthwise-separable blocks on the CPU.
#pragma once

#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/separable_block.h"

namespace tessera {

// The packed filters of a block. A filter whose pointer is null is packed in each run.
struct PackedFilters {
  PackedWeights* expand = nullptr;
  PackedWeights* depthwise = nullptr;
  PackedWeights* project = nullptr;
};

// Computes the block on the step's threads; see SeparableBlock::Run().
//
// Image rows are expanded when the depthwise convolution first needs them, and stay in a ring
// buffer, and so in the cache, as long as it needs them. The threads share images and rows.
// Neighbouring parts expand some rows twice, so that with too few rows the threads share the
// channels instead, and each computes partial sums.
absl::Status ComputeSeparableBlock(KernelContext& ctx, const SeparableBlockShape& shape,
                                   const SeparableLayers& layers, const PackedFilters& packed,
                                   const float* input, float* output,
                                   Numerics numerics = Numerics::kFast);

}  // namespace tessera
