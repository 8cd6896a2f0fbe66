// The loop of an LSTM over a sequence as one op.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/fused_loop.h"
#include "runtime/kernels/nn/lstm_steps.h"

namespace tessera {
namespace {

class LstmLoopKernel : public FusedLoopKernel {
 public:
  explicit LstmLoopKernel(const KernelBuild& build)
      : FusedLoopKernel(build, /*num_gates=*/4, /*num_states=*/2),
        forget_bias_(build.attr<float>("forget_bias")),
        steps_(build, recurrent_input()) {}

  absl::Status Prepare(const PrepareContext& context) override {
    RETURN_IF_ERROR(FusedLoopKernel::Prepare(context));
    return steps_.Prepare(context, positions());
  }

 private:
  LstmGatePositions positions() const {
    const auto at = [&](int gate) { return static_cast<int>(gates()[gate]); };
    return {at(0), at(1), at(2), at(3)};
  }

  absl::Status CheckCell(KernelContext&, int64_t) const override { return absl::OkStatus(); }

  absl::Status RunSteps(KernelContext& ctx, const Steps& steps) const override {
    const int64_t batch = steps.batch, units = steps.units;
    ASSIGN_OR_RETURN(const Tensor sums, ctx.AllocateTemp(DType::kFloat, {1, batch, 4 * units}));
    ASSIGN_OR_RETURN(const Tensor tanh_c, ctx.AllocateTemp(DType::kFloat, {1, batch, units}));
    Tensor c = steps.states[1];
    c.Reshape({1, batch, units});
    return steps_.Run(
        ctx,
        {.sizes = {.steps = steps.count, .batch = batch, .units = units, .positions = positions()},
         .forget_bias = forget_bias_,
         .recurrent = ctx.input(recurrent_input()),
         .inputs = steps.inputs,
         .h0 = steps.h0,
         .c0 = steps.states[1],
         .sums = sums,
         .c = c,
         .tanh_c = tanh_c,
         .h = steps.h});
  }

  const float forget_bias_;
  LstmSteps steps_;
};
REGISTER_KERNEL("_LstmLoop", (DevicesOf<MatMul, LstmCell, LstmForwardPass>), LstmLoopKernel)
    .HostMemory("limits")
    .HostMemory("size");

}  // namespace
}  // namespace tessera
