// Skinny GEMM: a matrix product with up to four rows, whose time is that of reading the matrix.
#pragma once

#include "Eigen/Core"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// The largest number of rows for which reading the matrix in place is faster than packing it.
inline constexpr int64_t kMaxGemvRows = 4;

// Computes output = activation(a * b + bias + output) for `a` of m x k with m <= kMaxGemvRows, and
// `b` of k x n, or of n x k if `transpose_b`. The matrix is read once, in place, and the step's
// threads share it. Errors: RESOURCE_EXHAUSTED for scratch memory.
absl::Status Gemv(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_b,
                  const PostOps& post_ops, const float* a, const float* b, const float* bias,
                  float* output);
// Computes the same product with a matrix of bfloat16. Requires AVX-512.
absl::Status Gemv(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_b,
                  const PostOps& post_ops, const float* a, const Eigen::bfloat16* b,
                  const float* bias, float* output);

}  // namespace tessera
