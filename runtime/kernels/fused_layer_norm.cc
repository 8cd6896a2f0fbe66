// Layer normalisation in one pass over memory, with the addition before it.
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast_add.h"
#include "runtime/kernels/cpu/softmax_row.h"

namespace tessera {
namespace {

// y = (x - mean) * rsqrt(variance + epsilon) * gamma + beta, a row. `y` may be `x`.
void NormaliseRow(const float* x, const float* gamma, const float* beta, float epsilon,
                  int64_t count, float* y, float* scratch) {
  const float mean = ReduceRow<reduce::Sum>(x, count) / static_cast<float>(count);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) scratch[i] = (x[i] - mean) * (x[i] - mean);
  const float variance = ReduceRow<reduce::Sum>(scratch, count) / static_cast<float>(count);
  const float scale = 1.0f / std::sqrt(variance + epsilon);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * (scale * gamma[i]) + beta[i];
}

// Inputs: x, gamma, beta, and possibly what is added to x. Errors: INVALID_ARGUMENT for shapes that
// do not fit.
class LayerNormKernel : public OpKernel {
 public:
  explicit LayerNormKernel(const KernelBuild& build)
      : epsilon_(build.attr<float>("epsilon")), axis_(build.attr<int64_t>("axis")) {}

  absl::Status Compute(KernelContext& ctx) override {
    Tensor broadcast;
    const float* addend = nullptr;
    if (ctx.num_inputs() > 3) {
      if (ctx.input(0).shape() == ctx.input(3).shape()) {
        addend = ctx.input(3).data<float>();
      } else {
        ASSIGN_OR_RETURN(broadcast, BroadcastAdd(ctx, ctx.input(0), ctx.input(3)));
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
    ctx.ParallelFor(rows, 0.7 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(columns);
      for (int64_t row = begin * columns; row < end * columns; row += columns) {
        const float* values = from + row;
        if (addend != nullptr) {
#pragma GCC ivdep
          for (int64_t i = 0; i < columns; ++i) to[row + i] = from[row + i] + addend[row + i];
          values = to + row;
        }
        NormaliseRow(values, gamma.data<float>(), beta.data<float>(), epsilon_, columns, to + row,
                     scratch.data());
      }
    });
    return absl::OkStatus();
  }

 private:
  const float epsilon_;
  const int64_t axis_;
};
REGISTER_KERNEL("_LayerNorm", kCpu, LayerNormKernel);

}  // namespace
}  // namespace tessera
