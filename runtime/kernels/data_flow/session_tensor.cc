// Tensors that stay in the session from one run to the next: GetSessionHandle, GetSessionTensor,
// DeleteSessionTensor.
#include <atomic>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

constexpr absl::string_view kTypeName = "session_tensor";

// Immutable.
class SessionTensor final : public Resource {
 public:
  explicit SessionTensor(Tensor value) : value_(std::move(value)) {}
  const Tensor& value() const { return value_; }
  std::string DebugString() const override { return "tensor of the session"; }

 private:
  const Tensor value_;
};

// The handle "NODE;NUMBER;DEVICE", which is a string, or the name in a resource handle (V2).
class GetHandleKernel final : public OpKernel {
 public:
  explicit GetHandleKernel(const KernelBuild& build) : name_(build.node_name()) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    static std::atomic<int64_t> next{0};
    const std::string device = ctx.device() == nullptr ? "" : ctx.device()->name().ToString();
    const std::string name = absl::StrCat(name_, ";", next.fetch_add(1), ";", device);
    auto tensor = MakeRefCounted<SessionTensor>(ctx.TakeInput(0));
    RETURN_IF_ERROR(ctx.resources().Create("", kTypeName, name, tensor));
    if (ctx.output_type(0) == DType::kString) return SetScalarOutput(ctx, 0, name);
    ResourceHandle handle;
    handle.device = device;
    handle.name = name;
    handle.type_name = std::string(kTypeName);
    return SetScalarOutput(ctx, 0, std::move(handle));
  }

 private:
  const std::string name_;
};
REGISTER_KERNEL("GetSessionHandle", kCpu, GetHandleKernel);
REGISTER_KERNEL("GetSessionHandleV2", kCpu, GetHandleKernel);

absl::StatusOr<std::string> HandleInput(const KernelContext& ctx) {
  if (ctx.input(0).rank() == 0) return ctx.input(0).scalar<std::string>();
  return absl::InvalidArgumentError(
      absl::StrCat("handle must be a scalar, has shape ", ctx.input(0).shape().ToString()));
}

absl::Status NotInSession(const std::string& handle) {
  return absl::InvalidArgumentError(
      absl::StrCat("The tensor with handle '", handle, "' is not in the session store."));
}

// Errors: INVALID_ARGUMENT for an unknown handle, and for a tensor of another dtype.
class GetTensorKernel final : public OpKernel {
 public:
  explicit GetTensorKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string handle, HandleInput(ctx));
    const auto found = ctx.resources().Lookup("", kTypeName, handle);
    if (!found.ok()) return NotInSession(handle);
    const Tensor& value = static_cast<const SessionTensor&>(**found).value();
    if (value.dtype() != ctx.output_type(0)) {
      return absl::InvalidArgumentError(absl::StrCat("the tensor is ", DTypeName(value.dtype()),
                                                     ", not ", DTypeName(ctx.output_type(0))));
    }
    ctx.set_output(0, value);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("GetSessionTensor", kCpu, GetTensorKernel);

// Errors: INVALID_ARGUMENT for an unknown handle.
class DeleteTensorKernel final : public OpKernel {
 public:
  explicit DeleteTensorKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string handle, HandleInput(ctx));
    if (!ctx.resources().Delete("", kTypeName, handle).ok()) return NotInSession(handle);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("DeleteSessionTensor", kCpu, DeleteTensorKernel);

}  // namespace
}  // namespace tessera
