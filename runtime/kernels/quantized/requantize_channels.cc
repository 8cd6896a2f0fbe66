// Ranges that differ by channel: RequantizePerChannel, RequantizationRangePerChannel.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Whether the ranges may be those of more channels than there are; the first ones count then.
enum class MoreRanges { kRefused, kAllowed };

// Returns what one step of int32 stands for in each channel, by inputs 1 and 2.
// Errors: INVALID_ARGUMENT unless input 0 is 4-D and these are ranges for its last dimension.
absl::StatusOr<std::vector<float>> ReadSteps(const KernelContext& ctx, MoreRanges more) {
  const Tensor& x = ctx.input(0);
  if (x.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must be 4-dimensional, has shape ", x.shape().ToString()));
  }
  if (ctx.input(1).rank() != 1 || ctx.input(2).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the minima and maxima of channels must be vectors, have shapes ",
                     ctx.input(1).shape().ToString(), " and ", ctx.input(2).shape().ToString()));
  }
  const int64_t channels = x.num_elements() == 0 ? 0 : x.dim(3);
  const int64_t minima = ctx.input(1).num_elements(), maxima = ctx.input(2).num_elements();
  if (minima != maxima) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", minima, " minima and ", maxima, " maxima of channels"));
  }
  if (minima < channels || (more == MoreRanges::kRefused && minima > channels)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ranges of ", minima, " channels, the input has ", channels));
  }
  std::vector<float> steps(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const float limit =
        std::max(std::abs(ctx.input(1).data<float>()[c]), std::abs(ctx.input(2).data<float>()[c]));
    steps[c] = limit / 2147483648.0f;
  }
  return steps;
}

// Inputs: int32 numbers, the minima and maxima of their channels, and the range of the output.
class RequantizePerChannelKernel : public OpKernel {
 public:
  explicit RequantizePerChannelKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(std::vector<float> factors, ReadSteps(ctx, MoreRanges::kAllowed));
    for (int i = 3; i < 5; ++i) {
      if (ctx.input(i).num_elements() == 1) continue;
      return absl::InvalidArgumentError("requested_output_min and _max must be scalars");
    }
    const float min = ctx.input(3).scalar<float>(), max = ctx.input(4).scalar<float>();
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    const bool is_signed = y->dtype() == DType::kQint8;
    if (is_signed && !(min < 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("requested_output_min must be negative for qint8, is ", min));
    }
    const float low = is_signed ? -128.0f : 0.0f, high = is_signed ? 127.0f : 255.0f;
    for (float& factor : factors) factor *= high / std::max(std::abs(min), std::abs(max));
    const auto channels = static_cast<int64_t>(factors.size());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const float scaled = static_cast<float>(Stored<int32_t>(x)[i]) * factors[i % channels];
      // A NaN, which ranges of width 0 give, becomes the lowest number.
      const float q = std::nearbyint(scaled >= low ? std::min(scaled, high) : low);
      if (is_signed) {
        MutableStored<int8_t>(y)[i] = static_cast<int8_t>(q);
      } else {
        MutableStored<uint8_t>(y)[i] = static_cast<uint8_t>(q);
      }
    }
    RETURN_IF_ERROR(SetScalarOutput<float>(ctx, 1, min));
    return SetScalarOutput<float>(ctx, 2, max);
  }
};
REGISTER_KERNEL("RequantizePerChannel", kCpu, RequantizePerChannelKernel)
    .TypeConstraint("T", {DType::kQint32})
    .TypeConstraint("out_type", {DType::kQint8, DType::kQuint8});

// Outputs: a range for all channels, symmetric unless no number is negative, within clip_value_max.
// Errors: INVALID_ARGUMENT for an empty input.
class RangePerChannelKernel : public OpKernel {
 public:
  explicit RangePerChannelKernel(const KernelBuild& build)
      : clip_(build.attr<float>("clip_value_max")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("an empty input has no range, it has shape ", x.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const std::vector<float> steps, ReadSteps(ctx, MoreRanges::kRefused));
    const auto channels = static_cast<int64_t>(steps.size());
    float limit = 0;
    bool has_negative = false;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int32_t q = Stored<int32_t>(x)[i];
      has_negative = has_negative || q < 0;
      limit = std::max(limit, std::abs(static_cast<float>(q)) * steps[i % channels]);
    }
    limit = std::min(limit, clip_);
    RETURN_IF_ERROR(SetScalarOutput<float>(ctx, 0, has_negative ? -limit : 0.0f));
    return SetScalarOutput<float>(ctx, 1, limit);
  }

 private:
  const float clip_;
};
REGISTER_KERNEL("RequantizationRangePerChannel", kCpu, RangePerChannelKernel)
    .TypeConstraint("T", {DType::kQint32});

}  // namespace
}  // namespace tessera
