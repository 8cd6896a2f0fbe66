// Local response normalisation across channels (Krizhevsky et al., 2012): LRN and its gradient.
#include "runtime/kernels/primitives/local_response.h"

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

LocalResponseOptions Options(const KernelBuild& build) {
  return {.radius = build.attr<int64_t>("depth_radius"),
          .bias = build.attr<float>("bias"),
          .alpha = build.attr<float>("alpha"),
          .beta = build.attr<float>("beta")};
}

// Errors: INVALID_ARGUMENT unless the input is [batch, height, width, channels].
absl::Status CheckRank(const Tensor& x) {
  if (x.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the input must be [batch, height, width, channels], has shape ", x.shape().ToString()));
}

class LrnKernel : public OpKernel {
 public:
  explicit LrnKernel(const KernelBuild& build) : response_(build), options_(Options(build)) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckRank(x));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    const int64_t channels = x.dim(3);
    if (y->num_elements() == 0) return absl::OkStatus();
    return response_(ctx, options_, channels, x, y);
  }

 private:
  const Primitive<LocalResponse> response_;
  const LocalResponseOptions options_;
};
REGISTER_KERNEL("LRN", DevicesOf<LocalResponse>, LrnKernel);

// Inputs: gradients of y, x, y. Errors: INVALID_ARGUMENT unless the shapes are the same.
class LrnGradKernel : public OpKernel {
 public:
  explicit LrnGradKernel(const KernelBuild& build) : gradient_(build), options_(Options(build)) {}

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
    return gradient_(ctx, options_, channels, gradients, x, y, dx);
  }

 private:
  const Primitive<LocalResponseGradient> gradient_;
  const LocalResponseOptions options_;
};
REGISTER_KERNEL("LRNGrad", DevicesOf<LocalResponseGradient>, LrnGradKernel);

}  // namespace
}  // namespace tessera
