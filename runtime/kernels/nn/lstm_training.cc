// The loop of an LSTM over a sequence, keeping what its gradient needs, and the gradient.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/nn/lstm_steps.h"

namespace tessera {
namespace {

// What both kernels share.
class LstmTrainingKernel : public OpKernel {
 protected:
  explicit LstmTrainingKernel(const KernelBuild& build) {
    const auto gates = build.attr<std::vector<int64_t>>("gates");
    bool fits = gates.size() == 4;
    for (const int64_t gate : gates) fits = fits && gate >= 0 && gate < 4;
    if (!fits) {
      build.Fail(absl::InvalidArgumentError("'gates' must name four positions"));
      return;
    }
    positions_ = {.input = static_cast<int>(gates[0]),
                  .forget = static_cast<int>(gates[1]),
                  .cell = static_cast<int>(gates[2]),
                  .output = static_cast<int>(gates[3])};
  }

  // Returns the sizes of a loop over a tensor of shape `x`, whose recurrent weights and initial
  // states are the inputs from `first` on. Errors: INVALID_ARGUMENT for shapes that do not fit each
  // other.
  absl::StatusOr<LstmSizes> ReadSizes(const KernelContext& ctx, const Shape& x, int first) const {
    const Shape &recurrent = ctx.input(first).shape(), &h = ctx.input(first + 1).shape(),
                &c = ctx.input(first + 2).shape();
    if (x.rank() == 3 && recurrent.rank() == 2) {
      const int64_t batch = x.dim(1), units = recurrent.dim(0);
      const Shape state{batch, units};
      if (x.dim(2) % 4 == 0 && x.dim(2) / 4 == units && recurrent.dim(1) == x.dim(2) &&
          h == state && c == state) {
        return LstmSizes{.batch = batch, .units = units, .positions = positions_};
      }
    }
    return absl::InvalidArgumentError(
        absl::StrCat("a loop over ", x.ToString(), " cannot have recurrent weights of ",
                     recurrent.ToString(), " and states of ", h.ToString(), " and ", c.ToString()));
  }

 private:
  LstmGatePositions positions_ = {};
};

// Inputs: x, recurrent, h, c, limits. The activated gates have the shape of `x`, and may take its
// memory; those of steps that are not run have no values.
class LstmForwardTrainingKernel : public LstmTrainingKernel {
 public:
  explicit LstmForwardTrainingKernel(const KernelBuild& build)
      : LstmTrainingKernel(build),
        limits_(build.inputs("limits")),
        forget_bias_(build.attr<float>("forget_bias")),
        steps_(build, /*recurrent_input=*/1) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(LstmSizes s, ReadSizes(ctx, shape, 1));
    s.steps = shape.dim(0);
    for (int i = limits_.begin; i < limits_.end; ++i) {
      ASSIGN_OR_RETURN(const int64_t limit, ReadIndexScalar(ctx.input(i), "limits"));
      if (i == limits_.begin || limit < s.steps) s.steps = std::max<int64_t>(limit, 0);
    }
    if (s.steps > shape.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat("Trying to access element ", shape.dim(0),
                                                     " in a list with ", shape.dim(0),
                                                     " elements."));
    }
    const Shape states{s.steps, s.batch, s.units};
    ASSIGN_OR_RETURN(Tensor* const activated, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    const Tensor& x = ctx.input(0).has_value() ? ctx.input(0) : *activated;
    ASSIGN_OR_RETURN(Tensor* const c, ctx.AllocateOutput(1, states));
    ASSIGN_OR_RETURN(Tensor* const tanh_c, ctx.AllocateOutput(2, states));
    ASSIGN_OR_RETURN(Tensor* const h, ctx.AllocateOutput(3, states));
    RETURN_IF_ERROR(steps_.Run(ctx, {.sizes = s,
                                     .forget_bias = forget_bias_,
                                     .recurrent = ctx.input(1),
                                     .inputs = x.Slice(0, s.steps),
                                     .h0 = ctx.input(2),
                                     .c0 = ctx.input(3),
                                     .sums = activated->Slice(0, s.steps),
                                     .c = *c,
                                     .tanh_c = *tanh_c,
                                     .h = *h}));
    // The last states keep the sequences alive, which the gradient needs anyway.
    ctx.set_output(4, s.steps == 0 ? ctx.input(2) : h->SubSlice(s.steps - 1));
    ctx.set_output(5, s.steps == 0 ? ctx.input(3) : c->SubSlice(s.steps - 1));
    return absl::OkStatus();
  }

 private:
  const ArgRange limits_;
  const float forget_bias_;
  const LstmSteps steps_;
};
REGISTER_KERNEL("_LstmTraining", (DevicesOf<MatMul, LstmCell, LstmForwardPass>),
                LstmForwardTrainingKernel)
    .HostMemory("limits");

// Inputs: recurrent, h, c, the outputs of the forward kernel up to `hs`, d_last_h, d_last_c.
class LstmGradientKernel : public LstmTrainingKernel {
 public:
  explicit LstmGradientKernel(const KernelBuild& build)
      : LstmTrainingKernel(build), steps_(build, /*recurrent_input=*/0) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor &activated = ctx.input(3), &h0 = ctx.input(1);
    const Shape shape = activated.shape();
    ASSIGN_OR_RETURN(LstmSizes s, ReadSizes(ctx, shape, 0));
    s.steps = ctx.input(4).rank() == 3 ? ctx.input(4).dim(0) : -1;
    const Shape state{s.batch, s.units};
    bool fits = s.steps >= 0 && s.steps <= shape.dim(0);
    for (int i = 4; i < 9; ++i) {
      fits = fits && ctx.input(i).shape() == (i < 7 ? Shape{s.steps, s.batch, s.units} : state);
    }
    if (!fits) return absl::InvalidArgumentError("the states of the loop do not fit its input");
    const LstmGates<const float> gates = GatesIn(activated.data<float>(), s.units, s.positions);
    // Each step reads its gates before it writes their gradients, which may lie in the same place.
    ASSIGN_OR_RETURN(Tensor* const d_x, ctx.ForwardOrAllocateOutput({3}, 0, shape));
    ASSIGN_OR_RETURN(Tensor* const d_recurrent, ctx.AllocateOutput(1, {s.units, 4 * s.units}));
    for (int i = 0; i < 2; ++i) {
      const Tensor from = ctx.input(7 + i);
      ASSIGN_OR_RETURN(Tensor* const to, ctx.AllocateOutput(2 + i, state));
      std::copy_n(from.data<float>(), from.num_elements(), to->data<float>());
    }
    Tensor d_sums = d_x->Slice(0, s.steps), rest = d_x->Slice(s.steps, shape.dim(0));
    std::fill_n(rest.mutable_raw(), rest.size_bytes(), 0);
    RETURN_IF_ERROR(steps_.Run(ctx, {.sizes = s,
                                     .recurrent = ctx.input(0),
                                     .gates = gates,
                                     .gates_step = s.batch * 4 * s.units,
                                     .c0 = ctx.input(2),
                                     .c = ctx.input(4),
                                     .tanh_c = ctx.input(5),
                                     .d_h = ctx.output(2),
                                     .d_c = ctx.output(3),
                                     .d_sums = d_sums}));
    return steps_.RecurrentGradient(ctx, h0, ctx.input(6), d_sums, d_recurrent);
  }

 private:
  const LstmGradientSteps steps_;
};
REGISTER_KERNEL("_LstmGradient", (DevicesOf<MatMul, LstmCellGradient, LstmBackwardPass>),
                LstmGradientKernel);

}  // namespace
}  // namespace tessera
