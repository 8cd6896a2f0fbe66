// The loop of a GRU over a sequence as one op, in the variant that resets after the product.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/batch_share.h"
#include "runtime/kernels/nn/fused_loop.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/recurrent_cell.h"

namespace tessera {
namespace {

class GruLoopKernel : public FusedLoopKernel {
 public:
  explicit GruLoopKernel(const KernelBuild& build)
      : FusedLoopKernel(build, /*num_gates=*/3, /*num_states=*/1),
        cell_(build),
        product_(Primitive<MatMul>(build)(build, recurrent_input())),
        recurrent_bias_(build.inputs("recurrent_bias")) {
    if (recurrent_bias_.size() > 1) build.Fail(absl::InvalidArgumentError("has several biases"));
  }

  absl::Status Prepare(const PrepareContext& context) override {
    RETURN_IF_ERROR(FusedLoopKernel::Prepare(context));
    return product_->Prepare(context, /*transpose_b=*/false, WeightUse::kEachStep);
  }

 private:
  absl::Status CheckCell(KernelContext& ctx, int64_t units) const override {
    if (recurrent_bias_.size() == 0) return absl::OkStatus();
    const Shape& shape = ctx.input(recurrent_bias_.begin).shape();
    if (shape == Shape{3 * units}) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the recurrent bias of the loop must have ",
                                                   3 * units, " elements, has shape ",
                                                   shape.ToString()));
  }

  GruGates GatesIn(const float* sums, int64_t units) const {
    return {.update = sums + gates()[0] * units,
            .reset = sums + gates()[1] * units,
            .candidate = sums + gates()[2] * units,
            .stride = 3 * units};
  }

  absl::Status RunSteps(KernelContext& ctx, const Steps& steps) const override {
    return ForEachBatchShare(
        ctx, steps.batch, {.steps = steps.count, .units = steps.units, .gates = 3},
        [&](int64_t begin, int64_t end) { return RunRows(ctx, steps, begin, end); });
  }

  absl::Status RunRows(KernelContext& ctx, const Steps& steps, int64_t begin, int64_t end) const {
    const int64_t rows = end - begin, units = steps.units;
    ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kFloat, {rows, 3 * units}));
    const MatMulShape shape{.m = rows, .n = 3 * units, .k = units};
    const bool has_bias = recurrent_bias_.size() > 0;
    const PostOpInputs bias{.bias = has_bias ? &ctx.input(recurrent_bias_.begin) : nullptr};
    Tensor h = steps.h0.Slice(begin, end);
    for (int64_t t = 0; t < steps.count; ++t) {
      RETURN_IF_ERROR(product_->Run(ctx, shape, {.bias = has_bias}, h, ctx.input(recurrent_input()),
                                    bias, &sums));
      Tensor next = steps.h.SubSlice(steps.h.dim(0) == 1 ? 0 : t).Slice(begin, end);
      const Tensor inputs = steps.inputs.SubSlice(t).Slice(begin, end);
      cell_({.rows = rows,
             .units = units,
             .input = GatesIn(inputs.data<float>(), units),
             .recurrent = GatesIn(sums.data<float>(), units),
             .h_prev = h.data<float>(),
             .h = next.data<float>()});
      h = std::move(next);
    }
    return absl::OkStatus();
  }

  const Primitive<GruCell> cell_;
  const std::unique_ptr<MatMul> product_;
  const ArgRange recurrent_bias_;
};
REGISTER_KERNEL("_GruLoop", (DevicesOf<MatMul, GruCell>), GruLoopKernel)
    .HostMemory("limits")
    .HostMemory("size");

}  // namespace
}  // namespace tessera
