// A matrix product whose left-hand side is stored transposed, such as the gradient of weights. It
// has few outputs, each of which is a sum over all rows of a batch. Other products with few rows
// can be computed so, too, by a transposed copy of the rows.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/post_ops.h"

namespace tessera {

// Computes output = a^T * b, for `a` of k x m and `b` of k x n, row-major and without gaps. If
// `add`, the product is added to the values of `output`. The order of the sums does not depend on
// the threads, which are those of the step.
void TransposedGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, bool add, float* output);

// Computes output = activation(a * b + bias + output), for `a` of m x k and `b` of k x n, row-major
// and without gaps, by a transposed copy of `a`. `bias` is null unless post_ops.bias, and the
// values of `output` are added only if post_ops.add. The order of the sums does not depend on the
// threads, which are those of the step. Errors: RESOURCE_EXHAUSTED for scratch memory.
absl::Status TransposingGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k,
                             const PostOps& post_ops, const float* a, const float* b,
                             const float* bias, float* output);

}  // namespace tessera
