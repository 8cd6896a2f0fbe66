// Control flow of TensorFlow 1: conditionals and loops as single nodes. Which inputs are live, and
// which frame and iteration a value belongs to, is the executor's matter: an output left without a
// value is dead, an input of Merge without a value has not come.
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/host_values.h"

namespace tessera {
namespace {

// Hands input 0, tensor or reference, to output `i`.
void Forward(KernelContext& ctx, int i) {
  if (ctx.has_ref(0)) {
    ctx.set_ref_output(i, IntrusivePtr<Variable>(ctx.ref_input(0)));
  } else {
    ctx.set_output(i, ctx.TakeInput(0));
  }
}

absl::Status CheckScalar(const Tensor& tensor, absl::string_view name) {
  if (tensor.num_elements() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' must be a scalar, has shape ", tensor.shape().ToString()));
}

// Sends the data to output 1 if `pred` holds, else to output 0.
class SwitchKernel : public OpKernel {
 public:
  explicit SwitchKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckScalar(ctx.input(1), "pred"));
    Forward(ctx, ctx.input(1).scalar<bool>() ? 1 : 0);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Switch", kAnyDevice, SwitchKernel).HostMemory("pred");
REGISTER_KERNEL("RefSwitch", kAnyDevice, SwitchKernel).HostMemory("pred");

// Sends the data to the output of that index, to the last one if there is none.
class SwitchNKernel : public OpKernel {
 public:
  explicit SwitchNKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckScalar(ctx.input(1), "output_index"));
    const int32_t index = ctx.input(1).scalar<int32_t>();
    const int last = ctx.num_outputs() - 1;
    Forward(ctx, index < 0 || index > last ? last : index);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("_SwitchN", kAnyDevice, SwitchNKernel).HostMemory("output_index");

// Hands on the reference of that index. Errors: INVALID_ARGUMENT if there is none.
class RefSelectKernel : public OpKernel {
 public:
  explicit RefSelectKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckScalar(ctx.input(0), "index"));
    const int32_t index = ctx.input(0).scalar<int32_t>();
    if (index < 0 || index >= ctx.num_inputs() - 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'index' is ", index, ", there are ", ctx.num_inputs() - 1, " inputs"));
    }
    ctx.set_ref_output(0, IntrusivePtr<Variable>(ctx.ref_input(index + 1)));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("RefSelect", kAnyDevice, RefSelectKernel).HostMemory("index");

// Hands on the one input that has come, and its index.
class MergeKernel : public OpKernel {
 public:
  explicit MergeKernel(const KernelBuild& build) {
    // Made once: a loop runs through here every iteration.
    for (int i = 0; i < build.num_inputs(); ++i) indices_.push_back(ConstantScalar(build, i));
  }
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.has_ref(i)) {
        ctx.set_ref_output(0, IntrusivePtr<Variable>(ctx.ref_input(i)));
      } else if (ctx.input(i).has_value()) {
        ctx.set_output(0, ctx.TakeInput(i));
      } else {
        continue;
      }
      ctx.set_output(1, indices_[i]);
      return absl::OkStatus();
    }
    return absl::InternalError("no input has a value");
  }

 private:
  std::vector<Tensor> indices_;
};
REGISTER_KERNEL("Merge", kAnyDevice, MergeKernel).HostMemory("value_index");
REGISTER_KERNEL("RefMerge", kAnyDevice, MergeKernel).HostMemory("value_index");

// A value on its way into a loop, around it, or out of it.
class ForwardKernel : public OpKernel {
 public:
  explicit ForwardKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    Forward(ctx, 0);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Enter", kAnyDevice, ForwardKernel);
REGISTER_KERNEL("RefEnter", kAnyDevice, ForwardKernel);
REGISTER_KERNEL("Exit", kAnyDevice, ForwardKernel);
REGISTER_KERNEL("RefExit", kAnyDevice, ForwardKernel);
REGISTER_KERNEL("NextIteration", kAnyDevice, ForwardKernel);
REGISTER_KERNEL("RefNextIteration", kAnyDevice, ForwardKernel);
REGISTER_KERNEL("LoopCond", kAnyDevice, ForwardKernel).HostMemory("input").HostMemory("output");

// Nodes that executors run themselves. Registered so that placement knows where they may run.
class ExecutorsOwnKernel : public OpKernel {
 public:
  explicit ExecutorsOwnKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext&) override {
    return absl::InternalError("is run by the executor, not by a kernel");
  }
};
REGISTER_KERNEL("ControlTrigger", kAnyDevice, ExecutorsOwnKernel);
REGISTER_KERNEL("_Arg", kAnyDevice, ExecutorsOwnKernel);
REGISTER_KERNEL("_DeviceArg", kAnyDevice, ExecutorsOwnKernel);
REGISTER_KERNEL("_Retval", kAnyDevice, ExecutorsOwnKernel);
REGISTER_KERNEL("_DeviceRetval", kAnyDevice, ExecutorsOwnKernel);

}  // namespace
}  // namespace tessera
