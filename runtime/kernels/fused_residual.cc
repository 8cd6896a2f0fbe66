#include "runtime/kernels/fused_residual.h"

#include <cstring>

#include "runtime/kernels/broadcast_add.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

constexpr int kResidualInput = 3;

}  // namespace

absl::Status ComputeWithResidual(
    KernelContext& ctx, const Shape& shape, const PostOps& post_ops,
    absl::FunctionRef<absl::Status(const PostOps& post_ops, Tensor* output)> compute) {
  if (ctx.input(kResidualInput).shape() == shape) {
    const char* const addend = ctx.input(kResidualInput).raw();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.ForwardOrAllocateOutput({kResidualInput}, 0, shape));
    if (output->raw() != addend) std::memcpy(output->mutable_raw(), addend, output->size_bytes());
    return compute(post_ops, output);
  }
  // A slow road for shapes that hardly occur.
  const Tensor& addend = ctx.input(kResidualInput);
  PostOps only_bias;
  only_bias.bias = post_ops.bias;
  ASSIGN_OR_RETURN(Tensor product, ctx.AllocateTemp(addend.dtype(), shape));
  RETURN_IF_ERROR(compute(only_bias, &product));
  ASSIGN_OR_RETURN(Tensor sum, BroadcastAdd(ctx, product, addend));
  RETURN_IF_ERROR(VisitRealType(sum.dtype(), [&]<typename T>() {
    if (post_ops.activation == Activation::kNone) return absl::OkStatus();
    for (T& x : sum.flat<T>()) {
      x = static_cast<T>(Apply(post_ops.activation, post_ops.alpha, static_cast<double>(x)));
    }
    return absl::OkStatus();
  }));
  ctx.set_output(0, std::move(sum));
  return absl::OkStatus();
}

}  // namespace tessera
