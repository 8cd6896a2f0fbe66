// Choosing between two tensors element by element: SelectV2, which broadcasts, and Select of
// TensorFlow 1, whose condition may choose whole rows.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

struct Choose {
  template <typename T>
  const T& operator()(bool condition, const T& x, const T& y) const {
    return condition ? x : y;
  }
};

template <typename T>
constexpr LoopFn ChooseLoop() {
  return &TernaryLoop<Choose, T, bool, T, T>;
}

LoopFn FindLoop(DType dtype) {
  return VisitStorageType(dtype, []<typename T>() {
    // Signed integers have vectorised loops.
    if constexpr (std::is_same_v<T, uint32_t>) return ChooseLoop<int32_t>();
    if constexpr (std::is_same_v<T, uint64_t>) return ChooseLoop<int64_t>();
    return ChooseLoop<T>();
  });
}

absl::Status RunChoose(KernelContext& ctx, LoopFn loop, const Shape& condition_shape,
                       const Shape& shape) {
  const Tensor& condition = ctx.input(0);
  const Tensor& x = ctx.input(1);
  const Tensor& y = ctx.input(2);
  const int64_t size = static_cast<int64_t>(DTypeSize(x.dtype()));
  const char* const data[] = {condition.raw(), x.raw(), y.raw()};
  const ByteStrides strides[] = {BroadcastByteStrides(condition_shape, shape, sizeof(bool)),
                                 BroadcastByteStrides(x.shape(), shape, size),
                                 BroadcastByteStrides(y.shape(), shape, size)};
  ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocateOutput({1, 2}, 0, shape));
  StridedLoop engine(shape.dims());
  engine.AddOperand(z->raw(), RowMajorByteStrides(shape, size));
  for (int i = 0; i < 3; ++i) engine.AddOperand(data[i], strides[i]);
  engine.Run(ctx.pool(), IsTriviallyCopyable(z->dtype()) ? 0.5 : 10, *loop);
  return absl::OkStatus();
}

// Errors: INVALID_ARGUMENT if the shapes do not broadcast together.
class SelectV2Kernel : public OpKernel {
 public:
  explicit SelectV2Kernel(const KernelBuild& build) : loop_(FindLoop(build.output_types()[0])) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    if (condition.num_elements() == 1) {
      const int chosen = condition.scalar<bool>() ? 1 : 2;
      const Shape& shape = ctx.input(chosen).shape();
      if (shape == ctx.input(3 - chosen).shape() && condition.rank() <= shape.rank()) {
        ctx.set_output(0, ctx.TakeInput(chosen));
        return absl::OkStatus();
      }
    }
    ASSIGN_OR_RETURN(Shape shape, BroadcastShape(ctx.input(1).shape(), ctx.input(2).shape()));
    ASSIGN_OR_RETURN(shape, BroadcastShape(condition.shape(), shape));
    return RunChoose(ctx, loop_, condition.shape(), shape);
  }

 private:
  const LoopFn loop_;
};
REGISTER_KERNEL("SelectV2", kCpu, SelectV2Kernel);

// The condition is a scalar, a vector with one element a row, or has the operands' shape.
// Errors: INVALID_ARGUMENT for other shapes.
class SelectKernel : public OpKernel {
 public:
  explicit SelectKernel(const KernelBuild& build) : loop_(FindLoop(build.output_types()[0])) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    const Shape shape = ctx.input(1).shape();
    if (!(shape == ctx.input(2).shape())) {
      return absl::InvalidArgumentError(absl::StrCat("'t' and 'e' must have equal shapes, not ",
                                                     shape.ToString(), " and ",
                                                     ctx.input(2).shape().ToString()));
    }
    if (condition.shape().IsScalar()) {
      ctx.set_output(0, ctx.TakeInput(condition.scalar<bool>() ? 1 : 2));
      return absl::OkStatus();
    }
    Shape condition_shape = condition.shape();
    if (condition_shape.IsVector() && shape.rank() > 1) {
      while (condition_shape.rank() < shape.rank()) condition_shape.AddDim(1);
      if (condition_shape.dim(0) != shape.dim(0)) return Mismatch(condition.shape(), shape);
    } else if (!(condition_shape == shape)) {
      return Mismatch(condition.shape(), shape);
    }
    return RunChoose(ctx, loop_, condition_shape, shape);
  }

 private:
  static absl::Status Mismatch(const Shape& condition, const Shape& shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("'condition' must be a scalar, have one element a row, or the shape ",
                     shape.ToString(), " of the operands; its shape is ", condition.ToString()));
  }

  const LoopFn loop_;
};
REGISTER_KERNEL("Select", kCpu, SelectKernel);

}  // namespace
}  // namespace tessera
