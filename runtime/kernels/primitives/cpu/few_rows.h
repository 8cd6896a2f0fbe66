// Products of few rows with a large matrix, which take as long as reading the matrix takes.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Products with up to this many rows are better off here than with a matrix that is packed first.
inline constexpr int64_t kFewRows = 4;

// output = activation(a * b + bias + output) for a of m x k, m <= kFewRows, and b of k x n, or
// n x k if `transpose_b`. The matrix is read once, as it lies, by all threads together.
// Errors: RESOURCE_EXHAUSTED for scratch memory.
absl::Status MultiplyFewRows(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_b,
                             const PostOps& post_ops, const float* a, const float* b,
                             const float* bias, float* output);

}  // namespace tessera
