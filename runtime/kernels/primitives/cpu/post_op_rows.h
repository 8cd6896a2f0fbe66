// Post-ops of products that are added to their outputs in memory.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/post_ops.h"

namespace tessera {

// Writes the terms that a product is added to: the bias, and the values at `sums` if post_ops.add.
// `bias` is null unless post_ops.bias.
void StartSums(const PostOps& post_ops, const float* bias, int64_t count, float* sums);

// Replaces complete sums by their activations.
void FinishSums(const PostOps& post_ops, int64_t count, float* sums);

}  // namespace tessera
