// Layer normalisation in one pass over memory, with the addition before it.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast_add.h"
#include "runtime/kernels/primitives/layer_norm.h"

namespace tessera {
namespace {

// Inputs: x, gamma, beta, and possibly what is added to x. Errors: INVALID_ARGUMENT for shapes that
// do not fit.
class LayerNormKernel : public OpKernel {
 public:
  explicit LayerNormKernel(const KernelBuild& build)
      : layer_norm_(build),
        epsilon_(build.attr<float>("epsilon")),
        axis_(build.attr<int64_t>("axis")),
        broadcast_add_(build, DType::kFloat) {}

  absl::Status Compute(KernelContext& ctx) override {
    Tensor broadcast;
    const Tensor* addend = nullptr;
    if (ctx.num_inputs() > 3) {
      if (ctx.input(0).shape() == ctx.input(3).shape()) {
        addend = &ctx.input(3);
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
    const Shape shape = OutputShape(x.shape(), gamma.shape());
    // Rows are written where they were read, if nobody else reads them.
    Tensor* output = nullptr;
    if (broadcast.has_value()) {
      broadcast.Reshape(shape);
      ctx.set_output(0, std::move(broadcast));
      output = &ctx.output(0);
    } else {
      ASSIGN_OR_RETURN(output, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    }
    return layer_norm_(ctx, {.rows = rows,
                             .columns = columns,
                             .epsilon = epsilon_,
                             .x = x.has_value() ? x : *output,
                             .addend = addend,
                             .gamma = gamma,
                             .beta = beta,
                             .y = output});
  }

 private:
  // Parameters with more dimensions than x, all but the last of them 1, broadcast it to their rank.
  static Shape OutputShape(const Shape& x, const Shape& parameters) {
    Shape shape;
    for (int i = x.rank(); i < parameters.rank(); ++i) shape.AddDim(1);
    for (const int64_t dim : x.dims()) shape.AddDim(dim);
    return shape;
  }

  const Primitive<LayerNorm> layer_norm_;
  const float epsilon_;
  const int64_t axis_;
  const BroadcastAdd broadcast_add_;
};
REGISTER_KERNEL("_LayerNorm", (DevicesOf<LayerNorm, Elementwise>), LayerNormKernel);

}  // namespace
}  // namespace tessera
