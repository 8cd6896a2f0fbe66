// Batched matrix products of every dtype, by plain loops.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/matmul.h"

namespace tessera {

// Computes the products. Sums of half and bfloat16 are of float, and rounded once. `bias` is null
// unless post_ops.bias.
absl::Status MultiplyByLoops(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                             const Tensor& a, const Tensor& b, const Tensor* bias, Tensor* output);

}  // namespace tessera
