#include "runtime/kernels/broadcast_add.h"

#include "runtime/base/status.h"
#include "runtime/kernels/broadcast.h"

namespace tessera {

absl::StatusOr<Tensor> BroadcastAdd::Run(KernelContext& ctx, const Tensor& a,
                                         const Tensor& b) const {
  ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(a.shape(), b.shape()));
  ASSIGN_OR_RETURN(Tensor sum, ctx.AllocateTemp(dtype_, shape));
  if (shape.num_elements() == 0) return sum;
  const auto size = static_cast<int64_t>(DTypeSize(dtype_));
  StridedOperands operands(shape.dims());
  operands.Add(sum.address(), RowMajorByteStrides(shape, size));
  operands.Add(a.address(), BroadcastByteStrides(a.shape(), shape, size));
  operands.Add(b.address(), BroadcastByteStrides(b.shape(), shape, size));
  operands.Coalesce();
  RETURN_IF_ERROR(add_->Run(ctx, operands));
  return sum;
}

}  // namespace tessera
