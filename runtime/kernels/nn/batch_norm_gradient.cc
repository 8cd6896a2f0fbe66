// Gradients of batch normalisation: FusedBatchNormGrad and its versions.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/batch_norm.h"

namespace tessera {
namespace {

// Inputs: gradients of y, x, scale, and the mean and variance that normalised x. Outputs: gradients
// of x, scale and offset, and two that hold nothing.
// Errors: INVALID_ARGUMENT for another rank, or shapes that do not belong together.
class FusedBatchNormGradKernel : public OpKernel {
 public:
  explicit FusedBatchNormGradKernel(const KernelBuild& build)
      : gradient_(build),
        epsilon_(build.attr<float>("epsilon")),
        is_training_(build.attr<bool>("is_training")),
        format_(build.attr<std::string>("data_format")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& dy = ctx.input(0);
    const Tensor& x = ctx.input(1);
    const bool channels_first = format_[1] == 'C';
    const int rank = x.rank();
    if ((rank != 4 && rank != 5) || !(dy.shape() == x.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients and inputs must have one shape of rank 4 or 5, have ",
                       dy.shape().ToString(), " and ", x.shape().ToString()));
    }
    const int64_t channels = x.dim(channels_first ? 1 : rank - 1);
    for (int i = 2; i < 5; ++i) {
      if (ctx.input(i).shape() == Shape{channels}) continue;
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a vector of ", channels,
                                                     " numbers, has shape ",
                                                     ctx.input(i).shape().ToString()));
    }
    const int64_t inner = channels_first ? DimProduct(x.shape(), 2, rank) : 1;
    ASSIGN_OR_RETURN(Tensor* const dx, ctx.AllocateOutput(0, x.shape()));
    for (int i = 3; i < 5; ++i) RETURN_IF_ERROR(ctx.AllocateOutput(i, Shape{0}).status());
    if (x.num_elements() == 0) {
      // Sums of nothing are zero, whatever the variance is.
      for (int i = 1; i < 3; ++i) {
        ASSIGN_OR_RETURN(Tensor zeros, ctx.AllocateZeros(DType::kFloat, Shape{channels}));
        ctx.set_output(i, std::move(zeros));
      }
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor* const dscale, ctx.AllocateOutput(1, Shape{channels}));
    ASSIGN_OR_RETURN(Tensor* const doffset, ctx.AllocateOutput(2, Shape{channels}));
    const int64_t outer = x.num_elements() / channels / inner;
    return gradient_(ctx, {.shape = {.outer = outer, .channels = channels, .inner = inner},
                           .epsilon = epsilon_,
                           .is_training = is_training_,
                           .dy = dy,
                           .x = x,
                           .scale = ctx.input(2),
                           .mean = ctx.input(3),
                           .variance = ctx.input(4),
                           .dx = dx,
                           .dscale = dscale,
                           .doffset = doffset});
  }

 private:
  const Primitive<BatchNormGradient> gradient_;
  const float epsilon_;
  const bool is_training_;
  const std::string format_;
};
REGISTER_KERNEL("FusedBatchNormGrad", DevicesOf<BatchNormGradient>, FusedBatchNormGradKernel);
REGISTER_KERNEL("FusedBatchNormGradV2", DevicesOf<BatchNormGradient>, FusedBatchNormGradKernel);
REGISTER_KERNEL("FusedBatchNormGradV3", DevicesOf<BatchNormGradient>, FusedBatchNormGradKernel);

}  // namespace
}  // namespace tessera
