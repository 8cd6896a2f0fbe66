// The batch norm of the first TensorFlow, which has one number a channel for all statistics:
// BatchNormWithGlobalNormalization and its gradient.
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

const std::vector<DType> kTypes = {DType::kHalf, DType::kFloat, DType::kDouble};

// Errors: INVALID_ARGUMENT unless `x` is [batch, height, width, channels], and inputs 1 to
// `last_vector` are vectors with an element a channel.
absl::Status CheckShapes(const KernelContext& ctx, int last_vector) {
  const Tensor& x = ctx.input(0);
  if (x.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must be 4-dimensional, has shape ", x.shape().ToString()));
  }
  for (int i = 1; i <= last_vector; ++i) {
    if (ctx.input(i).shape() == Shape{x.dim(3)}) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a vector of ", x.dim(3),
                                                   " elements, has shape ",
                                                   ctx.input(i).shape().ToString()));
  }
  return absl::OkStatus();
}

// Inputs: x, mean, variance, beta, gamma. Half is computed in float.
class BatchNormKernel : public OpKernel {
 public:
  explicit BatchNormKernel(const KernelBuild& build)
      : epsilon_(build.attr<float>("variance_epsilon")),
        scales_(build.attr<bool>("scale_after_normalization")) {}

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckShapes(ctx, 4));
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    if (x.num_elements() == 0) return absl::OkStatus();
    return VisitRealType(x.dtype(), [&]<typename T>() {
      using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const int64_t channels = x.dim(3);
      std::vector<C> factor(channels), shift(channels);
      for (int64_t c = 0; c < channels; ++c) {
        const C root = std::sqrt(static_cast<C>(ctx.input(2).data<T>()[c]) + C(epsilon_));
        factor[c] = (scales_ ? static_cast<C>(ctx.input(4).data<T>()[c]) : C(1)) / root;
        shift[c] = static_cast<C>(ctx.input(3).data<T>()[c]);
      }
      const T* const mean = ctx.input(1).data<T>();
      ctx.ParallelFor(x.num_elements() / channels, 2.0 * static_cast<double>(channels),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin * channels; i < end * channels; ++i) {
                          const int64_t c = i % channels;
                          const C centred =
                              static_cast<C>(x.data<T>()[i]) - static_cast<C>(mean[c]);
                          y->data<T>()[i] = static_cast<T>(centred * factor[c] + shift[c]);
                        }
                      });
      return absl::OkStatus();
    });
  }

 private:
  const float epsilon_;
  const bool scales_;
};
REGISTER_KERNEL("BatchNormWithGlobalNormalization", kCpu, BatchNormKernel)
    .TypeConstraint("T", kTypes);

// Inputs: x, mean, variance, gamma, and the gradient of the output. Outputs: the gradients of x,
// mean, variance, beta and gamma.
class BatchNormGradKernel : public OpKernel {
 public:
  explicit BatchNormGradKernel(const KernelBuild& build)
      : epsilon_(build.attr<float>("variance_epsilon")),
        scales_(build.attr<bool>("scale_after_normalization")) {}

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckShapes(ctx, 3));
    const Tensor& x = ctx.input(0);
    const Tensor& gradient = ctx.input(4);
    if (gradient.shape() != x.shape()) {
      return absl::InvalidArgumentError(absl::StrCat("backprop must have shape ",
                                                     x.shape().ToString(), ", has ",
                                                     gradient.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const dx, ctx.AllocateOutput(0, x.shape()));
    for (int i = 1; i < 5; ++i) RETURN_IF_ERROR(ctx.AllocateOutput(i, Shape{x.dim(3)}).status());
    return VisitRealType(x.dtype(), [&]<typename T>() {
      Differentiate<T>(ctx, dx);
      return absl::OkStatus();
    });
  }

 private:
  template <typename T>
  void Differentiate(KernelContext& ctx, Tensor* dx) const {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const Tensor& x = ctx.input(0);
    const T* const gradient = ctx.input(4).data<T>();
    const T* const mean = ctx.input(1).data<T>();
    const int64_t channels = x.dim(3);
    std::vector<C> sum(channels), product(channels), factor(channels);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t c = i % channels;
      const C g = static_cast<C>(gradient[i]);
      sum[c] += g;
      product[c] += g * (static_cast<C>(x.data<T>()[i]) - static_cast<C>(mean[c]));
    }
    for (int64_t c = 0; c < channels; ++c) {
      const C variance = static_cast<C>(ctx.input(2).data<T>()[c]) + C(epsilon_);
      const C inverse = 1 / std::sqrt(variance);
      const C gamma = scales_ ? static_cast<C>(ctx.input(3).data<T>()[c]) : C(1);
      factor[c] = inverse * gamma;
      ctx.output(1).data<T>()[c] = static_cast<T>(-sum[c] * factor[c]);
      ctx.output(2).data<T>()[c] = static_cast<T>(product[c] * C(-0.5) * factor[c] / variance);
      ctx.output(3).data<T>()[c] = static_cast<T>(sum[c]);
      ctx.output(4).data<T>()[c] = static_cast<T>(scales_ ? product[c] * inverse : C(0));
    }
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      dx->data<T>()[i] = static_cast<T>(static_cast<C>(gradient[i]) * factor[i % channels]);
    }
  }

  const float epsilon_;
  const bool scales_;
};
REGISTER_KERNEL("BatchNormWithGlobalNormalizationGrad", kCpu, BatchNormGradKernel)
    .TypeConstraint("T", kTypes);

}  // namespace
}  // namespace tessera
