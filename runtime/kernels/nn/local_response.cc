// Local response normalisation across channels (Krizhevsky et al., 2012): LRN and its gradient.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// y[c] = x[c] / (bias + alpha * sum over c' within `radius` of c of x[c']^2) ^ beta
struct LocalResponse {
  explicit LocalResponse(const KernelBuild& build)
      : radius(build.attr<int64_t>("depth_radius")),
        bias(build.attr<float>("bias")),
        alpha(build.attr<float>("alpha")),
        beta(build.attr<float>("beta")) {}

  int64_t First(int64_t c) const { return std::max<int64_t>(c - radius, 0); }
  int64_t End(int64_t c, int64_t channels) const {
    return c + 1 > channels - radius ? channels : c + radius + 1;
  }
  // The base of the power, for each channel of a pixel.
  template <typename T>
  void Norms(const T* x, int64_t channels, float* norms) const {
    for (int64_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (int64_t k = First(c); k < End(c, channels); ++k) {
        sum += static_cast<float>(x[k]) * static_cast<float>(x[k]);
      }
      norms[c] = bias + alpha * sum;
    }
  }

  const int64_t radius;
  const float bias, alpha, beta;
};

// Errors: INVALID_ARGUMENT unless the input is [batch, height, width, channels].
absl::Status CheckRank(const Tensor& x) {
  if (x.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the input must be [batch, height, width, channels], has shape ", x.shape().ToString()));
}

class LrnKernel : public OpKernel {
 public:
  explicit LrnKernel(const KernelBuild& build) : response_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckRank(x));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    const int64_t channels = x.dim(3);
    if (y->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(x.dtype(), [&]<typename T>() {
      ctx.ParallelFor(
          x.num_elements() / channels, 20.0 * channels, [&](int64_t begin, int64_t end) {
            std::vector<float> norms(channels);
            for (int64_t i = begin; i < end; ++i) {
              const T* const in = x.data<T>() + i * channels;
              response_.Norms(in, channels, norms.data());
              for (int64_t c = 0; c < channels; ++c) {
                y->data<T>()[i * channels + c] =
                    static_cast<T>(static_cast<float>(in[c]) * std::pow(norms[c], -response_.beta));
              }
            }
          });
      return absl::OkStatus();
    });
  }

 private:
  const LocalResponse response_;
};
REGISTER_KERNEL("LRN", kCpu, LrnKernel);

// Inputs: gradients of y, x, y. Errors: INVALID_ARGUMENT unless the shapes are the same.
class LrnGradKernel : public OpKernel {
 public:
  explicit LrnGradKernel(const KernelBuild& build) : response_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradients = ctx.input(0);
    const Tensor& x = ctx.input(1);
    const Tensor& y = ctx.input(2);
    RETURN_IF_ERROR(CheckRank(x));
    if (!(gradients.shape() == x.shape()) || !(y.shape() == x.shape())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "gradients, inputs and outputs must have one shape, have ", gradients.shape().ToString(),
          ", ", x.shape().ToString(), " and ", y.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.shape()));
    const int64_t channels = x.dim(3);
    if (dx->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(x.dtype(), [&]<typename T>() {
      std::vector<float> norms(channels), sums(channels);
      for (int64_t i = 0; i < x.num_elements(); i += channels) {
        const T* const in = x.data<T>() + i;
        response_.Norms(in, channels, norms.data());
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (int64_t c = 0; c < channels; ++c) {
          const float g = static_cast<float>(gradients.data<T>()[i + c]);
          const float factor = -2 * response_.alpha * response_.beta *
                               static_cast<float>(y.data<T>()[i + c]) / norms[c];
          for (int64_t k = response_.First(c); k < response_.End(c, channels); ++k) {
            float d = factor * static_cast<float>(in[k]);
            if (k == c) d += std::pow(norms[c], -response_.beta);
            sums[k] += d * g;
          }
        }
        for (int64_t c = 0; c < channels; ++c) dx->data<T>()[i + c] = static_cast<T>(sums[c]);
      }
      return absl::OkStatus();
    });
  }

 private:
  const LocalResponse response_;
};
REGISTER_KERNEL("LRNGrad", kCpu, LrnGradKernel);

}  // namespace
}  // namespace tessera
