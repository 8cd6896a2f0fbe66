// Sources of a graph: Const and its relatives, placeholders.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/device_constant.h"

namespace tessera {
namespace {

// The tensor of attribute `value`, in the memory of the device. The output shares it; the kernel
// keeps a reference, so nobody writes into it.
class ConstKernel : public OpKernel {
 public:
  explicit ConstKernel(const KernelBuild& build) : value_(build.attr<Tensor>("value")) {
    const DType dtype = build.attr<DType>("dtype");
    if (build.status().ok() && value_.dtype() != dtype) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("attribute dtype is ", DTypeName(dtype),
                                                         " but the value is ",
                                                         DTypeName(value_.dtype()))));
    }
  }
  bool IsExpensive() const override { return false; }
  absl::Status Prepare(const PrepareContext& context) override {
    return MoveToDevice(context.device, &value_);
  }
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, value_);
    return absl::OkStatus();
  }

 private:
  Tensor value_;
};
REGISTER_KERNEL("Const", kAnyDevice, ConstKernel);
REGISTER_KERNEL("HostConst", kCpu, ConstKernel);

// Runs only if a step needs an input that its caller did not feed.
class PlaceholderKernel : public OpKernel {
 public:
  explicit PlaceholderKernel(const KernelBuild& build)
      : name_(build.node_name()),
        dtype_(build.attr<DType>("dtype")),
        shape_(build.attr<PartialShape>("shape")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext&) override {
    return absl::InvalidArgumentError(absl::StrCat("placeholder '", name_, "' (", DTypeName(dtype_),
                                                   shape_.ToString(),
                                                   ") needs a value: feed a tensor for it"));
  }

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
};
REGISTER_KERNEL("Placeholder", kAnyDevice, PlaceholderKernel);
REGISTER_KERNEL("PlaceholderV2", kAnyDevice, PlaceholderKernel);

}  // namespace
}  // namespace tessera
