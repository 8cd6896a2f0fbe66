// The example of docs/custom-ops.md: an op that keeps the first element and zeroes the others.
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/shape_inference.h"

namespace {

REGISTER_OP("ZeroOut")
    .Input("to_zero: float")
    .Output("zeroed: float")
    .ShapeFn(tessera::shape::SameAsFirstInput);

class ZeroOutKernel : public tessera::OpKernel {
 public:
  explicit ZeroOutKernel(const tessera::KernelBuild&) {}
  absl::Status Compute(tessera::KernelContext& ctx) override {
    const tessera::Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(tessera::Tensor* const output, ctx.AllocateOutput(0, input.shape()));
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      output->flat<float>()[i] = i == 0 ? input.flat<float>()[0] : 0;
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ZeroOut", tessera::kCpu, ZeroOutKernel);

}  // namespace
