// Kernels that ask for, or promise, a tensor's shape: Shape, ShapeN, Rank, Size, EnsureShape.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Writes `count` dimensions as int32 or int64, whichever the output is.
// Errors: INVALID_ARGUMENT if one does not fit in int32.
absl::Status WriteDims(absl::Span<const int64_t> dims, Tensor* output) {
  if (output->dtype() == DType::kInt64) {
    std::copy(dims.begin(), dims.end(), output->flat<int64_t>().begin());
    return absl::OkStatus();
  }
  auto out = output->flat<int32_t>();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat("size ", dims[i],
                                                     " does not fit in int32; set out_type (or "
                                                     "output type) to int64"));
    }
    out[i] = static_cast<int32_t>(dims[i]);
  }
  return absl::OkStatus();
}

// The shape of each input, as a vector.
class ShapeKernel : public OpKernel {
 public:
  explicit ShapeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape& shape = ctx.input(i).shape();
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(i, {shape.rank()}));
      RETURN_IF_ERROR(WriteDims(shape.dims(), output));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Shape", kAnyDevice, ShapeKernel).HostMemory("output");
REGISTER_KERNEL("ShapeN", kAnyDevice, ShapeKernel).HostMemory("output");

class RankKernel : public OpKernel {
 public:
  explicit RankKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    return SetScalarOutput<int32_t>(ctx, 0, ctx.input(0).rank());
  }
};
REGISTER_KERNEL("Rank", kAnyDevice, RankKernel).HostMemory("output");

class SizeKernel : public OpKernel {
 public:
  explicit SizeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, {}));
    return WriteDims({ctx.input(0).num_elements()}, output);
  }
};
REGISTER_KERNEL("Size", kAnyDevice, SizeKernel).HostMemory("output");

// Hands its input on if it has the shape that the attribute promises.
class EnsureShapeKernel : public OpKernel {
 public:
  explicit EnsureShapeKernel(const KernelBuild& build)
      : shape_(build.attr<PartialShape>("shape")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Shape& shape = ctx.input(0).shape();
    if (!shape_.IsCompatibleWith(shape)) {
      return absl::InvalidArgumentError(absl::StrCat("the tensor's shape ", shape.ToString(),
                                                     " is not compatible with the expected ",
                                                     shape_.ToString()));
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  const PartialShape shape_;
};
REGISTER_KERNEL("EnsureShape", kAnyDevice, EnsureShapeKernel);

}  // namespace
}  // namespace tessera
