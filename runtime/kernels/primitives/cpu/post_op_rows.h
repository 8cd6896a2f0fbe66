// Post-ops of products that are added to their outputs in memory.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/post_ops.h"

namespace tessera {

// Writes the terms that a product is added to: the bias, and the values at `sums` if post_ops.add.
// `bias` is null unless post_ops.bias.
void StartSums(const PostOps& post_ops, const float* bias, int64_t count, float* sums);

// Replaces complete sums by their activations. NaN stays NaN.
void FinishSums(const PostOps& post_ops, int64_t count, float* sums);

// Does the same for bfloat16 values, given by their bits, if the activation is a clamp or a leaky
// ReLU that leaks nothing. Does nothing for others.
void ClampBfloat16(const PostOps& post_ops, int64_t count, uint16_t* sums);

}  // namespace tessera
