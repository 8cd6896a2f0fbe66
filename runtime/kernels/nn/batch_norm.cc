// Batch normalisation, for inference and for training (Ioffe and Szegedy, arXiv:1502.03167).
#include "runtime/kernels/primitives/batch_norm.h"

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

// Inputs x, scale, offset, mean, variance; outputs y, mean, variance and what the gradient needs:
// saved mean, saved variance (the uncorrected one), and for V3 an unused third reserve.
class FusedBatchNormKernel : public OpKernel {
 public:
  explicit FusedBatchNormKernel(const KernelBuild& build)
      : batch_norm_(build),
        epsilon_(build.attr<float>("epsilon")),
        factor_(build.attr<float>("exponential_avg_factor")),
        is_training_(build.attr<bool>("is_training")),
        format_(build.attr<std::string>("data_format")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const int rank = x.rank();
    if (rank != 4 && rank != 5) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must have rank 4 or 5, has shape ", x.shape().ToString()));
    }
    // The format only says where the channels are. Its rank may be another one than that of the
    // input, as in TensorFlow.
    const bool channels_first = format_[1] == 'C';
    const int64_t channels = x.dim(channels_first ? 1 : rank - 1);
    const bool has_estimates = !is_training_ || factor_ != 1.0f;
    for (int i = 1; i < 5; ++i) {
      const Tensor& t = ctx.input(i);
      if (t.rank() != 1 || (t.dim(0) != channels && (i < 3 || has_estimates))) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a vector of ",
                                                       channels, " numbers, has shape ",
                                                       t.shape().ToString()));
      }
    }
    const int64_t inner = channels_first ? DimProduct(x.shape(), 2, rank) : 1;
    const int64_t outer = channels == 0 || inner == 0 ? 0 : x.num_elements() / channels / inner;
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    Tensor* statistics[4];
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(statistics[i], ctx.AllocateOutput(i + 1, Shape{channels}));
    }
    for (int i = 5; i < ctx.num_outputs(); ++i) {
      RETURN_IF_ERROR(ctx.AllocateOutput(i, Shape{0}).status());
    }
    return batch_norm_(ctx, {.shape = {.outer = outer, .channels = channels, .inner = inner},
                             .epsilon = epsilon_,
                             .is_training = is_training_,
                             .average_factor = factor_,
                             .x = x,
                             .scale = ctx.input(1),
                             .offset = ctx.input(2),
                             .mean = ctx.input(3),
                             .variance = ctx.input(4),
                             .y = y,
                             .average_mean = statistics[0],
                             .average_variance = statistics[1],
                             .saved_mean = statistics[2],
                             .saved_variance = statistics[3]});
  }

 private:
  const Primitive<BatchNorm> batch_norm_;
  const float epsilon_;
  const float factor_;
  const bool is_training_;
  const std::string format_;
};
REGISTER_KERNEL("FusedBatchNorm", DevicesOf<BatchNorm>, FusedBatchNormKernel);
REGISTER_KERNEL("FusedBatchNormV2", DevicesOf<BatchNorm>, FusedBatchNormKernel);
REGISTER_KERNEL("FusedBatchNormV3", DevicesOf<BatchNorm>, FusedBatchNormKernel);

}  // namespace
}  // namespace tessera
