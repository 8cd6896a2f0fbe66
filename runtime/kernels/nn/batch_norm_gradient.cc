// Gradients of batch normalisation: FusedBatchNormGrad and its versions.
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Inputs: gradients of y, x, scale, and the mean and variance that normalised x. Outputs: gradients
// of x, scale and offset, and two that hold nothing.
// Errors: INVALID_ARGUMENT for another rank, or shapes that do not belong together.
class FusedBatchNormGradKernel : public OpKernel {
 public:
  explicit FusedBatchNormGradKernel(const KernelBuild& build)
      : epsilon_(build.attr<float>("epsilon")),
        is_training_(build.attr<bool>("is_training")),
        format_(build.attr<std::string>("data_format")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& dy = ctx.input(0);
    const Tensor& x = ctx.input(1);
    const bool channels_first = format_[1] == 'C';
    const int rank = static_cast<int>(format_.size());
    if (x.rank() != rank || !(dy.shape() == x.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients and inputs must have one shape of rank ", rank, ", have ",
                       dy.shape().ToString(), " and ", x.shape().ToString()));
    }
    const int64_t channels = x.dim(channels_first ? 1 : rank - 1);
    for (int i = 2; i < 5; ++i) {
      if (ctx.input(i).shape() == Shape{channels}) continue;
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a vector of ", channels,
                                                     " numbers, has shape ",
                                                     ctx.input(i).shape().ToString()));
    }
    int64_t inner = 1;
    for (int i = 2; channels_first && i < rank; ++i) inner *= x.dim(i);
    ASSIGN_OR_RETURN(Tensor* const dx, ctx.AllocateOutput(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const dscale, ctx.AllocateOutput(1, Shape{channels}));
    ASSIGN_OR_RETURN(Tensor* const doffset, ctx.AllocateOutput(2, Shape{channels}));
    for (int i = 3; i < 5; ++i) ctx.set_output(i, Tensor::Of<float>(Shape{0}, {}));
    return VisitRealType(x.dtype(), [&]<typename T>() {
      Run<T>(ctx, dy.data<T>(), x.data<T>(), x.num_elements(), channels, inner, dx->data<T>(),
             dscale->data<float>(), doffset->data<float>());
      return absl::OkStatus();
    });
  }

 private:
  // All vectors are floats: T differs from float for x and y alone.
  template <typename T>
  void Run(KernelContext& ctx, const T* dy, const T* x, int64_t total, int64_t channels,
           int64_t inner, T* dx, float* dscale, float* doffset) const {
    const float* const scale = ctx.input(2).data<float>();
    const float* const mean = ctx.input(3).data<float>();
    const float* const variance = ctx.input(4).data<float>();
    std::vector<double> sum(channels), products(channels), inverse(channels);
    for (int64_t c = 0; c < channels; ++c) {
      inverse[c] = 1 / std::sqrt(static_cast<double>(variance[c]) + epsilon_);
    }
    auto channel = [&](int64_t i) { return i / inner % channels; };
    auto normal = [&](int64_t i, int64_t c) {
      return (static_cast<double>(x[i]) - mean[c]) * inverse[c];
    };
    for (int64_t i = 0; i < total; ++i) {
      const int64_t c = channel(i);
      sum[c] += static_cast<double>(dy[i]);
      products[c] += static_cast<double>(dy[i]) * normal(i, c);
    }
    // Without training, mean and variance do not depend on x.
    const double share = is_training_ && channels > 0
                             ? static_cast<double>(channels) / static_cast<double>(total)
                             : 0;
    for (int64_t i = 0; i < total; ++i) {
      const int64_t c = channel(i);
      const double rest =
          static_cast<double>(dy[i]) - share * (sum[c] + normal(i, c) * products[c]);
      dx[i] = static_cast<T>(static_cast<float>(scale[c] * inverse[c] * rest));
    }
    for (int64_t c = 0; c < channels; ++c) {
      dscale[c] = static_cast<float>(products[c]);
      doffset[c] = static_cast<float>(sum[c]);
    }
  }

  const float epsilon_;
  const bool is_training_;
  const std::string format_;
};
REGISTER_KERNEL("FusedBatchNormGrad", kCpu, FusedBatchNormGradKernel);
REGISTER_KERNEL("FusedBatchNormGradV2", kCpu, FusedBatchNormGradKernel);
REGISTER_KERNEL("FusedBatchNormGradV3", kCpu, FusedBatchNormGradKernel);

}  // namespace
}  // namespace tessera
