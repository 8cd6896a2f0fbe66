// The addition of a tensor to a product, as part of a fused op.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Output 0 = activation(product + bias + input 3), for post_ops.add. `compute` writes a product of
// `shape` with the post-ops it is given into an allocated tensor of `dtype` float or another real
// one; with `add` it adds to what the tensor holds.
//
// Input 3 has the product's shape almost always: the sum is then made in its memory, if nobody else
// reads it. Another shape broadcasts with the product's, as in AddV2.
// Errors: INVALID_ARGUMENT for shapes that do not broadcast; those of `compute`.
absl::Status ComputeWithResidual(
    KernelContext& ctx, const Shape& shape, const PostOps& post_ops,
    absl::FunctionRef<absl::Status(const PostOps& post_ops, Tensor* output)> compute);

}  // namespace tessera
