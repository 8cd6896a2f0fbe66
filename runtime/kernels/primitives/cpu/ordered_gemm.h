// A matrix product whose sums are always added in the same order.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Computes output = activation(a * b + bias + output) for `a` of m x k, or k x m if `transpose_a`,
// and `b` of k x n, or n x k if `transpose_b`. A row of the output depends on its row of `a` and on
// `b` alone: its bits are the same for any number of rows and threads. `b` is packed in each call.
// Errors: RESOURCE_EXHAUSTED for scratch memory.
absl::Status OrderedGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_a,
                         bool transpose_b, const PostOps& post_ops, const float* a, const float* b,
                         const float* bias, float* output);

}  // namespace tessera
