// Batch normalisation, for inference and for training (Ioffe and Szegedy, arXiv:1502.03167).
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Inputs x, scale, offset, mean, variance; outputs y, mean, variance and what the gradient needs:
// saved mean, saved variance (the uncorrected one), and for V3 an unused third reserve.
class FusedBatchNormKernel : public OpKernel {
 public:
  explicit FusedBatchNormKernel(const KernelBuild& build)
      : epsilon_(build.attr<float>("epsilon")),
        factor_(build.attr<float>("exponential_avg_factor")),
        is_training_(build.attr<bool>("is_training")),
        format_(build.attr<std::string>("data_format")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const bool channels_first = format_[1] == 'C';
    const int rank = static_cast<int>(format_.size());
    if (x.rank() != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must have rank ", rank, ", has shape ", x.shape().ToString()));
    }
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
    int64_t inner = 1;
    if (channels_first) {
      for (int i = 2; i < rank; ++i) inner *= x.dim(i);
    }
    const int64_t outer = channels == 0 || inner == 0 ? 0 : x.num_elements() / channels / inner;
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    std::vector<float> mean(channels), variance(channels), scale(channels), offset(channels);
    RETURN_IF_ERROR(Read(ctx.input(1), &scale));
    RETURN_IF_ERROR(Read(ctx.input(2), &offset));
    std::vector<float> old_mean(channels), old_variance(channels);
    if (has_estimates) {
      RETURN_IF_ERROR(Read(ctx.input(3), &old_mean));
      RETURN_IF_ERROR(Read(ctx.input(4), &old_variance));
    }
    return VisitRealType(x.dtype(), [&]<typename T>() -> absl::Status {
      const T* in = x.data<T>();
      if (is_training_) {
        Moments(in, outer, channels, inner, &mean, &variance);
      } else {
        mean = old_mean;
        variance = old_variance;
      }
      std::vector<float> factor(channels), shift(channels);
      for (int64_t c = 0; c < channels; ++c) {
        factor[c] = scale[c] / std::sqrt(variance[c] + epsilon_);
        shift[c] = offset[c] - mean[c] * factor[c];
      }
      T* out = y->data<T>();
      ctx.ParallelFor(outer, 1.0 * channels * inner, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          for (int64_t c = 0; inner == 1 && c < channels; ++c) {
            const int64_t i = o * channels + c;
            out[i] = static_cast<T>(static_cast<float>(in[i]) * factor[c] + shift[c]);
          }
          for (int64_t c = 0; inner != 1 && c < channels; ++c) {
            const int64_t start = (o * channels + c) * inner;
            for (int64_t i = start; i < start + inner; ++i) {
              out[i] = static_cast<T>(static_cast<float>(in[i]) * factor[c] + shift[c]);
            }
          }
        }
      });
      return WriteStatistics(ctx, outer * inner, mean, variance, old_mean, old_variance);
    });
  }

 private:
  static absl::Status Read(const Tensor& vector, std::vector<float>* out) {
    return VisitRealType(vector.dtype(), [&]<typename U>() {
      for (int64_t i = 0; i < vector.num_elements(); ++i) {
        (*out)[i] = static_cast<float>(vector.data<U>()[i]);
      }
      return absl::OkStatus();
    });
  }

  // Mean and uncorrected variance of each channel, in two passes.
  template <typename T>
  static void Moments(const T* in, int64_t outer, int64_t channels, int64_t inner,
                      std::vector<float>* mean, std::vector<float>* variance) {
    const double count = static_cast<double>(outer * inner);
    std::vector<double> sums(channels, 0), squares(channels, 0);
    auto for_each = [&](auto&& visit) {
      const T* at = in;
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t i = 0; i < inner; ++i) visit(c, static_cast<double>(*at++));
        }
      }
    };
    for_each([&](int64_t c, double v) { sums[c] += v; });
    for (int64_t c = 0; c < channels; ++c) sums[c] = count > 0 ? sums[c] / count : 0;
    for_each([&](int64_t c, double v) { squares[c] += (v - sums[c]) * (v - sums[c]); });
    for (int64_t c = 0; c < channels; ++c) {
      (*mean)[c] = static_cast<float>(sums[c]);
      (*variance)[c] = static_cast<float>(count > 0 ? squares[c] / count : 0);
    }
  }

  // Training gives the moving averages with Bessel's correction; inference passes estimates on.
  absl::Status WriteStatistics(KernelContext& ctx, int64_t count, const std::vector<float>& mean,
                               const std::vector<float>& variance,
                               const std::vector<float>& old_mean,
                               const std::vector<float>& old_variance) const {
    std::vector<float> out_mean = mean, out_variance = variance;
    for (size_t c = 0; c < mean.size(); ++c) {
      // There are no statistics of nothing, not even passed on ones.
      if (count == 0) out_mean[c] = out_variance[c] = std::nanf("");
      if (!is_training_) continue;
      if (count > 1) {
        out_variance[c] *= static_cast<float>(count) / static_cast<float>(count - 1);
      }
      if (factor_ != 1.0f) {
        out_mean[c] = (1 - factor_) * old_mean[c] + factor_ * out_mean[c];
        out_variance[c] = (1 - factor_) * old_variance[c] + factor_ * out_variance[c];
      }
    }
    const std::vector<float>* values[] = {&out_mean, &out_variance, &mean, &variance};
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(Tensor* const out,
                       ctx.AllocateOutput(i + 1, {static_cast<int64_t>(mean.size())}));
      RETURN_IF_ERROR(VisitRealType(out->dtype(), [&]<typename U>() {
        for (size_t c = 0; c < mean.size(); ++c)
          out->data<U>()[c] = static_cast<U>((*values[i])[c]);
        return absl::OkStatus();
      }));
    }
    if (ctx.num_outputs() > 5) {
      ctx.set_output(5, Tensor::Of<float>(Shape{0}, {}));
    }
    return absl::OkStatus();
  }

  const float epsilon_;
  const float factor_;
  const bool is_training_;
  const std::string format_;
};
REGISTER_KERNEL("FusedBatchNorm", kCpu, FusedBatchNormKernel);
REGISTER_KERNEL("FusedBatchNormV2", kCpu, FusedBatchNormKernel);
REGISTER_KERNEL("FusedBatchNormV3", kCpu, FusedBatchNormKernel);

}  // namespace
}  // namespace tessera
