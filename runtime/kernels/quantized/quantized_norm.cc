// Norms of quantised images: QuantizedInstanceNorm, QuantizedBatchNormWithGlobalNormalization.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"

namespace tessera {
namespace {

absl::Status CheckImages(const Tensor& x) {
  if (x.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input must be 4-dimensional, has shape ", x.shape().ToString()));
}

// Inputs: images of bytes and their range. Each channel of each image gets mean 0 and variance 1.
// Outputs: bytes and their range, which is given or that of the results.
class InstanceNormKernel : public OpKernel {
 public:
  explicit InstanceNormKernel(const KernelBuild& build)
      : is_range_given_(build.attr<bool>("output_range_given")),
        given_{build.attr<float>("given_y_min"), build.attr<float>("given_y_max")},
        epsilon_(build.attr<float>("variance_epsilon")),
        least_width_(build.attr<float>("min_separation")) {
    if (is_range_given_ && !(given_.min < given_.max)) {
      build.Fail(absl::InvalidArgumentError("given_y_min must be below given_y_max"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckImages(x));
    ASSIGN_OR_RETURN(const auto range, ReadRange<uint8_t>(ctx, 1));
    if (range.min == range.max) {
      return absl::InvalidArgumentError("x_min must be below x_max");
    }
    const int64_t pixels = x.dim(1) * x.dim(2), channels = x.dim(3);
    const int64_t count = x.num_elements();
    ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DType::kFloat, x.shape()));
    float* const normed = scratch.data<float>();
    for (int64_t i = 0; i < count; ++i) {
      normed[i] = range.Dequantize(Stored<uint8_t>(x)[i]);
    }
    for (int64_t b = 0; count > 0 && b < x.dim(0); ++b) {
      for (int64_t c = 0; c < channels; ++c) {
        Normalise(normed + b * pixels * channels + c, pixels, channels);
      }
    }
    QuantizedRange<uint8_t> out = given_;
    if (!is_range_given_ && count > 0) {
      const auto [low, high] = std::minmax_element(normed, normed + count);
      out = {*low, std::max(*high, *low + least_width_)};
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    std::transform(normed, normed + count, MutableStored<uint8_t>(y),
                   [&](float value) { return out.Quantize(value); });
    return SetRange(ctx, 1, out);
  }

 private:
  void Normalise(float* x, int64_t count, int64_t stride) const {
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < count; ++i) sum += x[i * stride];
    const float mean = sum / static_cast<float>(count);
    for (int64_t i = 0; i < count; ++i) {
      squares += (x[i * stride] - mean) * (x[i * stride] - mean);
    }
    const float factor = 1.0f / std::sqrt(squares / static_cast<float>(count) + epsilon_);
    for (int64_t i = 0; i < count; ++i) x[i * stride] = (x[i * stride] - mean) * factor;
  }

  const bool is_range_given_;
  const QuantizedRange<uint8_t> given_;
  const float epsilon_, least_width_;
};
REGISTER_KERNEL("QuantizedInstanceNorm", kCpu, InstanceNormKernel)
    .TypeConstraint("T", {DType::kQuint8});

// Inputs: images, means, variances, betas and gammas of bytes, each followed by its range.
// Computes in fixed point with ten bits behind the point, as TensorFlow does.
class QuantizedBatchNormKernel : public OpKernel {
 public:
  explicit QuantizedBatchNormKernel(const KernelBuild& build)
      : epsilon_(build.attr<float>("variance_epsilon")),
        scales_(build.attr<bool>("scale_after_normalization")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    RETURN_IF_ERROR(CheckImages(x));
    QuantizedRange<uint8_t> ranges[5];
    for (int i = 0; i < 5; ++i) {
      ASSIGN_OR_RETURN(ranges[i], ReadRange<uint8_t>(ctx, 3 * i + 1, RangeEnds::kSingle));
      if (i == 0 || ctx.input(3 * i).shape() == Shape{x.dim(3)}) continue;
      return absl::InvalidArgumentError(absl::StrCat("input ", 3 * i, " must be a vector of ",
                                                     x.dim(3), " elements, has shape ",
                                                     ctx.input(3 * i).shape().ToString()));
    }
    constexpr float kLimit = 1 << 20;
    const QuantizedRange<int32_t> out{-kLimit, kLimit};
    const int64_t channels = x.dim(3);
    std::vector<uint32_t> scale(channels), offset(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const auto value = [&](int i) {
        return ranges[i].Dequantize(Stored<uint8_t>(ctx.input(3 * i))[c]);
      };
      const float inverse = 1.0f / std::sqrt(value(2) + epsilon_);
      const float factor = scales_ ? inverse * value(4) : inverse;
      scale[c] = static_cast<uint32_t>(out.Quantize(factor));
      offset[c] = static_cast<uint32_t>(out.Quantize(-value(1) * factor + value(3)));
    }
    const int32_t one = out.Quantize(1);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t c = i % channels;
      const auto q =
          static_cast<uint32_t>(out.Quantize(ranges[0].Dequantize(Stored<uint8_t>(x)[i])));
      const int32_t scaled = static_cast<int32_t>(q * scale[c]) / one;
      MutableStored<int32_t>(y)[i] =
          static_cast<int32_t>(static_cast<uint32_t>(scaled) + offset[c]);
    }
    return SetRange(ctx, 1, out);
  }

 private:
  const float epsilon_;
  const bool scales_;
};
REGISTER_KERNEL("QuantizedBatchNormWithGlobalNormalization", kCpu, QuantizedBatchNormKernel)
    .TypeConstraint("Tinput", {DType::kQuint8})
    .TypeConstraint("out_type", {DType::kQint32});

}  // namespace
}  // namespace tessera
