// Tensors of one value: Fill, ZerosLike, OnesLike, Empty, OneHot.
#include "runtime/kernels/primitives/fill.h"

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/device_constant.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/one_hot.h"
#include "runtime/kernels/variant_arithmetic.h"

namespace tessera {
namespace {

class FillKernel : public OpKernel {
 public:
  explicit FillKernel(const KernelBuild& build) : fill_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(0), "dims"));
    const Tensor& value = ctx.input(1);
    if (value.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("value must be a scalar, has shape ", value.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return fill_(ctx, &value, output);
  }

 private:
  const Primitive<Fill> fill_;
};
REGISTER_KERNEL("Fill", DevicesOf<Fill>, FillKernel).HostMemory("dims");

// Zeros of the input's shape.
class ZerosLikeKernel : public OpKernel {
 public:
  explicit ZerosLikeKernel(const KernelBuild& build) : fill_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.ForwardOrAllocateOutput({0}, 0, ctx.input(0).shape()));
    return fill_(ctx, nullptr, output);
  }

 private:
  const Primitive<Fill> fill_;
};
REGISTER_KERNEL("ZerosLike", DevicesOf<Fill>, ZerosLikeKernel);

// A tensor list or ragged tensor, whose handle is the host's on every device.
// Errors: INVALID_ARGUMENT for several of them, which TensorFlow refuses, too.
class ZerosLikeVariantsKernel : public OpKernel {
 public:
  explicit ZerosLikeVariantsKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (!x.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a variant must be a scalar, has shape ", x.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, x.shape()));
    ASSIGN_OR_RETURN(*output->data<Variant>(), ZerosLikeVariant(ctx, *x.data<Variant>()));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ZerosLike", kAnyDevice, ZerosLikeVariantsKernel)
    .TypeConstraint<Variant>("T")
    .Priority(1);  // on the CPU, Fill would make empty variants

class OnesLikeKernel : public OpKernel {
 public:
  explicit OnesLikeKernel(const KernelBuild& build) : fill_(build) {
    const DType dtype = build.output_types()[0];
    if (dtype == DType::kBool) {
      one_ = ConstantScalar(build, true);
    } else {
      const absl::Status status = VisitNumericType(dtype, [&]<typename T>() {
        one_ = ConstantScalar(build, T(1));
        return absl::OkStatus();
      });
      if (!status.ok()) build.Fail(status);
    }
  }
  absl::Status Prepare(const PrepareContext& context) override {
    return MoveToDevice(context.device, &one_);
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.ForwardOrAllocateOutput({0}, 0, ctx.input(0).shape()));
    return fill_(ctx, &one_, output);
  }

 private:
  const Primitive<Fill> fill_;
  Tensor one_;
};
REGISTER_KERNEL("OnesLike", DevicesOf<Fill>, OnesLikeKernel);

// Zeros even without `init`: what memory held before is nobody's business.
class EmptyKernel : public OpKernel {
 public:
  explicit EmptyKernel(const KernelBuild& build) : fill_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape must be a vector, has shape ", ctx.input(0).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(0), "shape"));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return fill_(ctx, nullptr, output);
  }

 private:
  const Primitive<Fill> fill_;
};
REGISTER_KERNEL("Empty", DevicesOf<Fill>, EmptyKernel).HostMemory("shape");

// A new dimension `axis` of size `depth`: on_value at the index, off_value elsewhere. Indices out
// of range have no on_value.
class OneHotKernel : public OpKernel {
 public:
  explicit OneHotKernel(const KernelBuild& build)
      : one_hot_(build), axis_(build.attr<int64_t>("axis")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& on = ctx.input(2);
    const Tensor& off = ctx.input(3);
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, indices.rank() + 1, "axis"));
    if (ctx.input(1).rank() != 0 || on.rank() != 0 || off.rank() != 0) {
      return absl::InvalidArgumentError("depth, on_value and off_value must be scalars");
    }
    ASSIGN_OR_RETURN(const int64_t depth, ReadIndexScalar(ctx.input(1), "depth"));
    IndexVector dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    const int64_t inner = DimProduct(indices.shape(), axis, indices.rank());
    return one_hot_(ctx, depth, inner, indices, on, off, output);
  }

 private:
  const Primitive<OneHot> one_hot_;
  const int64_t axis_;
};
REGISTER_KERNEL("OneHot", DevicesOf<OneHot>, OneHotKernel).HostMemory("depth");

}  // namespace
}  // namespace tessera
