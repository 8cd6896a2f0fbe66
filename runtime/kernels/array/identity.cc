// Kernels that hand their inputs on.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Every output is the input of its position; no bytes move.
class IdentityKernel : public OpKernel {
 public:
  explicit IdentityKernel(const KernelBuild& build) {
    // Only _ListToArray and _ArrayToList declare their inputs and outputs apart.
    if (!std::ranges::equal(build.input_types(), build.output_types(), {}, RemoveRef, RemoveRef)) {
      build.Fail(absl::InvalidArgumentError("inputs and outputs must have the same dtypes"));
    }
  }
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.TakeInput(i));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Identity", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("IdentityN", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("Snapshot", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("StopGradient", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("PreventGradient", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("DebugGradientIdentity", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("GuaranteeConst", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("_ListToArray", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("_ArrayToList", kAnyDevice, IdentityKernel);
REGISTER_KERNEL("Copy", kCpu, IdentityKernel);
REGISTER_KERNEL("CopyHost", kCpu, IdentityKernel);

// Hands the default on, where nothing is fed. Errors: INVALID_ARGUMENT if its shape is not one that
// the attribute `shape` allows, from which shapes are inferred.
class PlaceholderWithDefaultKernel : public OpKernel {
 public:
  explicit PlaceholderWithDefaultKernel(const KernelBuild& build)
      : shape_(build.attr<PartialShape>("shape")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    if (!shape_.IsCompatibleWith(ctx.input(0).shape())) {
      return absl::InvalidArgumentError(absl::StrCat("the default has shape ",
                                                     ctx.input(0).shape().ToString(),
                                                     ", which is not ", shape_.ToString()));
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  const PartialShape shape_;
};
REGISTER_KERNEL("PlaceholderWithDefault", kAnyDevice, PlaceholderWithDefaultKernel);

// Hands a reference to a variable on.
class RefIdentityKernel : public OpKernel {
 public:
  explicit RefIdentityKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_ref_output(0, IntrusivePtr<Variable>(ctx.ref_input(0)));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("RefIdentity", kAnyDevice, RefIdentityKernel);
REGISTER_KERNEL("DebugGradientRefIdentity", kAnyDevice, RefIdentityKernel);

// A copy whose memory is shared with nobody.
class DeepCopyKernel : public OpKernel {
 public:
  explicit DeepCopyKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor copy, ctx.CopyOf(ctx.input(0)));
    ctx.set_output(0, std::move(copy));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("DeepCopy", kCpu, DeepCopyKernel);

// Nothing: exists for its control edges.
class NoOpKernel : public OpKernel {
 public:
  explicit NoOpKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext&) override { return absl::OkStatus(); }
};
REGISTER_KERNEL("NoOp", kAnyDevice, NoOpKernel);

}  // namespace
}  // namespace tessera
