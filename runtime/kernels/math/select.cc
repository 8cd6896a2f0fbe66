// Choosing between two tensors element by element: SelectV2, which broadcasts, and Select of
// TensorFlow 1, whose condition may choose whole rows.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/primitives/choose.h"

namespace tessera {
namespace {

// What both ops have in common.
class ChoosingKernel : public OpKernel {
 protected:
  explicit ChoosingKernel(const KernelBuild& build) : choose_(build) {}

  // 1 or 2, the input that a condition of one element chooses, if the host may look at it; else 0.
  static int ChosenInput(const Tensor& condition) {
    if (condition.num_elements() != 1 || !IsHostAccessible(condition.memory_kind())) return 0;
    return condition.scalar<bool>() ? 1 : 2;
  }

  // Gives output 0 of `shape`, to which the operands and a condition of `condition_shape`
  // broadcast.
  absl::Status Run(KernelContext& ctx, const Shape& condition_shape, const Shape& shape) const {
    const Tensor& x = ctx.input(1);
    const Tensor& y = ctx.input(2);
    const DType dtype = x.dtype();
    const int64_t size = static_cast<int64_t>(DTypeSize(dtype));
    const char* const data[] = {ctx.input(0).address(), x.address(), y.address()};
    const ByteStrides strides[] = {BroadcastByteStrides(condition_shape, shape, sizeof(bool)),
                                   BroadcastByteStrides(x.shape(), shape, size),
                                   BroadcastByteStrides(y.shape(), shape, size)};
    ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocateOutput({1, 2}, 0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    StridedOperands operands(shape.dims());
    operands.Add(z->address(), RowMajorByteStrides(shape, size));
    for (int i = 0; i < 3; ++i) operands.Add(data[i], strides[i]);
    return choose_(ctx, dtype, operands);
  }

 private:
  const Primitive<Choose> choose_;
};

// Errors: INVALID_ARGUMENT if the shapes do not broadcast together.
class SelectV2Kernel : public ChoosingKernel {
 public:
  explicit SelectV2Kernel(const KernelBuild& build) : ChoosingKernel(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    if (const int chosen = ChosenInput(condition); chosen != 0) {
      const Shape& shape = ctx.input(chosen).shape();
      if (shape == ctx.input(3 - chosen).shape() && condition.rank() <= shape.rank()) {
        ctx.set_output(0, ctx.TakeInput(chosen));
        return absl::OkStatus();
      }
    }
    ASSIGN_OR_RETURN(Shape shape, BroadcastShape(ctx.input(1).shape(), ctx.input(2).shape()));
    ASSIGN_OR_RETURN(shape, BroadcastShape(condition.shape(), shape));
    return Run(ctx, condition.shape(), shape);
  }
};
REGISTER_KERNEL("SelectV2", DevicesOf<Choose>, SelectV2Kernel);

// The condition is a scalar, a vector with one element a row, or has the operands' shape.
// Errors: INVALID_ARGUMENT for other shapes.
class SelectKernel : public ChoosingKernel {
 public:
  explicit SelectKernel(const KernelBuild& build) : ChoosingKernel(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    const Shape shape = ctx.input(1).shape();
    if (!(shape == ctx.input(2).shape())) {
      return absl::InvalidArgumentError(absl::StrCat("'t' and 'e' must have equal shapes, not ",
                                                     shape.ToString(), " and ",
                                                     ctx.input(2).shape().ToString()));
    }
    if (condition.shape().IsScalar()) {
      const int chosen = ChosenInput(condition);
      if (chosen == 0) return Run(ctx, condition.shape(), shape);
      ctx.set_output(0, ctx.TakeInput(chosen));
      return absl::OkStatus();
    }
    Shape condition_shape = condition.shape();
    if (condition_shape.IsVector() && shape.rank() > 1) {
      while (condition_shape.rank() < shape.rank()) condition_shape.AddDim(1);
      if (condition_shape.dim(0) != shape.dim(0)) return Mismatch(condition.shape(), shape);
    } else if (!(condition_shape == shape)) {
      return Mismatch(condition.shape(), shape);
    }
    return Run(ctx, condition_shape, shape);
  }

 private:
  static absl::Status Mismatch(const Shape& condition, const Shape& shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("'condition' must be a scalar, have one element a row, or the shape ",
                     shape.ToString(), " of the operands; its shape is ", condition.ToString()));
  }
};
REGISTER_KERNEL("Select", DevicesOf<Choose>, SelectKernel);

}  // namespace
}  // namespace tessera
