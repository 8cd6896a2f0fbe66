// Batched matrix products on the CPU.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/matmul.h"

namespace tessera {

// Does what MatMul::Run() does, but the previous content of `output` is added if post_ops.add.
// `bias` is null unless post_ops.bias. If `packed` is not null, `b` is taken as constant and, where
// that is faster, packed once.
absl::Status ComputeMatMul(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                           const Tensor& a, const Tensor& b, const Tensor* bias,
                           PackedWeights* packed, Tensor* output,
                           Numerics numerics = Numerics::kFast);

}  // namespace tessera
