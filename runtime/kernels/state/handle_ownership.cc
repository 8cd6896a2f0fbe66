// Who owns what a handle names: IsResourceHandleRefCounting, MakeWeakResourceHandle.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

absl::StatusOr<ResourceHandle> ReadHandle(const KernelContext& ctx) {
  if (ctx.input(0).num_elements() == 1) return *ctx.input(0).data<ResourceHandle>();
  return absl::InvalidArgumentError(
      absl::StrCat("handle must be a scalar, has shape ", ctx.input(0).shape().ToString()));
}

// True if the resource lives as long as one of its handles, and not by a name that it is found by.
class IsRefCountingKernel final : public OpKernel {
 public:
  explicit IsRefCountingKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle handle, ReadHandle(ctx));
    const auto named = ctx.resources().Lookup(handle.container, handle.type_name, handle.name);
    const bool is_found = named.ok() && named->get() == handle.resource.get();
    return SetScalarOutput<bool>(ctx, 0, handle.resource && !is_found);
  }
};
REGISTER_KERNEL("IsResourceHandleRefCounting", kCpu, IsRefCountingKernel);

// The same handle. TensorFlow's does not keep the resource alive; what it names must be alive
// whenever it is used, so that only the time of its end differs.
class WeakHandleKernel final : public OpKernel {
 public:
  explicit WeakHandleKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(ResourceHandle handle, ReadHandle(ctx));
    return SetScalarOutput(ctx, 0, std::move(handle));
  }
};
REGISTER_KERNEL("MakeWeakResourceHandle", kCpu, WeakHandleKernel);

}  // namespace
}  // namespace tessera
