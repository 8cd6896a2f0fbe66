// Layer normalisation in one pass over memory, with the addition before it.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast_add.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/layer_norm_rows.h"

namespace tessera {
namespace {

// Inputs: x, gamma, beta, and possibly what is added to x. Errors: INVALID_ARGUMENT for shapes that
// do not fit.
class LayerNormKernel : public OpKernel {
 public:
  explicit LayerNormKernel(const KernelBuild& build)
      : epsilon_(build.attr<float>("epsilon")),
        axis_(build.attr<int64_t>("axis")),
        broadcast_add_(build, DType::kFloat) {}

  absl::Status Compute(KernelContext& ctx) override {
    Tensor broadcast;
    const float* addend = nullptr;
    if (ctx.num_inputs() > 3) {
      if (ctx.input(0).shape() == ctx.input(3).shape()) {
        addend = ctx.input(3).data<float>();
      } else {
        ASSIGN_OR_RETURN(broadcast, broadcast_add_.Run(ctx, ctx.input(0), ctx.input(3)));
      }
    }
    const Tensor& x = broadcast.has_value() ? broadcast : ctx.input(0);
    const Tensor &gamma = ctx.input(1), &beta = ctx.input(2);
    const int rank = x.rank();
    if (rank < 1 || (axis_ != -1 && axis_ != rank - 1) || gamma.num_elements() != x.dim(rank - 1) ||
        beta.num_elements() != x.dim(rank - 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot normalise ", x.shape().ToString(), " over dimension ", axis_,
                       " with parameters of shape ", gamma.shape().ToString()));
    }
    const int64_t columns = x.dim(rank - 1);
    const int64_t rows = columns == 0 ? 0 : x.num_elements() / columns;
    const float* const from = x.data<float>();
    // Rows are written where they were read, if nobody else reads them.
    Tensor* output = nullptr;
    if (broadcast.has_value()) {
      ctx.set_output(0, std::move(broadcast));
      output = &ctx.output(0);
    } else {
      ASSIGN_OR_RETURN(output, ctx.ForwardOrAllocateOutput({0}, 0, ctx.input(0).shape()));
    }
    float* const to = output->data<float>();
    static const auto normalise = HasAvx512() ? avx512::Normalise : avx2::Normalise;
    ctx.ParallelFor(rows, 0.7 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * columns;
      normalise({.rows = end - begin,
                 .columns = columns,
                 .x = from + first,
                 .addend = addend == nullptr ? nullptr : addend + first,
                 .gamma = gamma.data<float>(),
                 .beta = beta.data<float>(),
                 .epsilon = epsilon_,
                 .y = to + first});
    });
    return absl::OkStatus();
  }

 private:
  const float epsilon_;
  const int64_t axis_;
  const BroadcastAdd broadcast_add_;
};
REGISTER_KERNEL("_LayerNorm", kCpu, LayerNormKernel);

}  // namespace
}  // namespace tessera
