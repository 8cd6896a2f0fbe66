#include "runtime/exec/host_kernel.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

class HostKernel final : public OpKernel {
 public:
  explicit HostKernel(std::unique_ptr<OpKernel> kernel) : kernel_(std::move(kernel)) {}

  bool IsExpensive() const override { return false; }

  // A context without a device, in which the memory of everything is the host's.
  absl::Status Compute(KernelContext& ctx) override {
    const int num_inputs = ctx.num_inputs(), num_outputs = ctx.num_outputs();
    absl::InlinedVector<Value, 4> inputs(num_inputs), outputs(num_outputs);
    absl::InlinedVector<KernelContext::InputSlot, 4> slots;
    absl::InlinedVector<DType, 4> types;
    for (int i = 0; i < num_inputs; ++i) {
      inputs[i].tensor = ctx.input(i);
      slots.push_back({static_cast<uint32_t>(i), /*last_use=*/0});
    }
    for (int i = 0; i < num_outputs; ++i) types.push_back(ctx.output_type(i));
    KernelContext host(ctx.step(), /*device=*/nullptr);
    host.Bind(inputs.data(), slots, outputs.data(), types);
    RETURN_IF_ERROR(kernel_->Compute(host));
    for (int i = 0; i < num_outputs; ++i) ctx.set_output(i, std::move(outputs[i].tensor));
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<OpKernel> kernel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<OpKernel>> MakeHostKernel(const KernelBuild& build) {
  const KernelBuild host(build.op(), build.node_name(), build.attrs(), build.input_types(),
                         build.output_types(), /*device=*/nullptr, /*functions=*/nullptr);
  ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, CreateKernel(host));
  RETURN_IF_ERROR(kernel->Prepare({}));
  return std::unique_ptr<OpKernel>(std::make_unique<HostKernel>(std::move(kernel)));
}

}  // namespace tessera
