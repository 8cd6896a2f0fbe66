#include "runtime/kernels/quantized/affine_quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/x86_convert.h"

namespace tessera {

QuantizationAttrs::QuantizationAttrs(const KernelBuild& build, const std::string& prefix)
    : axis(build.attr<int64_t>(prefix + "quantization_axis")),
      min(build.attr<int64_t>(prefix + "quantization_min_val")),
      max(build.attr<int64_t>(prefix + "quantization_max_val")) {
  constexpr int64_t kLow = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int32_t>::max();
  if (axis < -1 || min > max || min < kLow || max > kHigh) {
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("the axis must be -1 or more, and the range of quantised numbers not empty; "
                     "they are ",
                     axis, " and [", min, ", ", max, "]")));
  }
}

absl::StatusOr<AffineQuantization> AffineQuantization::Read(const Tensor& scales,
                                                            const Tensor& zero_points,
                                                            const QuantizationAttrs& attrs,
                                                            const Shape& shape) {
  AffineQuantization q;
  q.min_ = attrs.min;
  q.max_ = attrs.max;
  Shape expected;
  if (attrs.axis >= 0) {
    if (attrs.axis >= shape.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("quantization_axis ", attrs.axis, " is none of shape ", shape.ToString()));
    }
    const int axis = static_cast<int>(attrs.axis);
    expected = Shape{shape.dim(axis)};
    q.count_ = std::max<int64_t>(shape.dim(axis), 1);
    q.inner_ = std::max<int64_t>(DimProduct(shape, axis + 1, shape.rank()), 1);
  }
  if (!(scales.shape() == expected) || !(zero_points.shape() == expected)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scales and zero_points must have shape ", expected.ToString(), ", have ",
                     scales.shape().ToString(), " and ", zero_points.shape().ToString()));
  }
  const auto of_scales = scales.flat<float>();
  const auto of_points = zero_points.flat<int32_t>();
  q.scales_.assign(of_scales.begin(), of_scales.end());
  q.zero_points_.assign(of_points.begin(), of_points.end());
  return q;
}

absl::StatusOr<AffineQuantization> AffineQuantization::ReadPositive(const Tensor& scales,
                                                                    const Tensor& zero_points,
                                                                    const QuantizationAttrs& attrs,
                                                                    const Shape& shape) {
  ASSIGN_OR_RETURN(AffineQuantization q, Read(scales, zero_points, attrs, shape));
  for (const float scale : q.scales_) {
    if (!(scale > 0)) {
      return absl::InvalidArgumentError(absl::StrCat("scales must be positive, one is ", scale));
    }
  }
  return q;
}

int32_t AffineQuantization::Quantize(float x, int64_t position) const {
  const float rounded = std::floor(x * (1 / scale(position)) + 0.5f);
  return Clamp(int64_t{ConvertAsX86<int32_t>(rounded)} + zero_point(position));
}

int32_t AffineQuantization::Clamp(int64_t q) const {
  return static_cast<int32_t>(std::clamp(q, min_, max_));
}

DynamicQuantization::DynamicQuantization(absl::Span<const float> values) : numbers(values.size()) {
  double low = 0, high = 0;
  for (const float value : values) {
    low = std::min<double>(low, value);
    high = std::max<double>(high, value);
  }
  scale = static_cast<float>((high - low) / 255);
  const auto steps_per_unit = static_cast<float>(255 / (high - low));
  if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(steps_per_unit)) return;
  // Counted from the end that is nearer to zero, which loses fewer bits.
  const double from_low = -128 - low / scale, from_high = 127 - high / scale;
  const bool is_low_nearer = 128 + std::abs(low / scale) < 127 + std::abs(high / scale);
  const auto zero_point = static_cast<float>(
      std::clamp(std::round(is_low_nearer ? from_low : from_high), -128.0, 127.0));
  for (size_t i = 0; i < values.size(); ++i) {
    const float q = std::floor(values[i] * steps_per_unit + 0.5f) + zero_point;
    // NaN becomes the lowest number.
    numbers[i] = static_cast<int32_t>(std::max(-128.0f, std::min(q, 127.0f)) - zero_point);
  }
}

FixedPointMultiplier::FixedPointMultiplier(double factor) {
  if (!(factor > 0)) return;
  const double fraction = std::frexp(factor, &shift_);
  fraction_ = std::llround(fraction * static_cast<double>(int64_t{1} << 31));
  if (fraction_ == int64_t{1} << 31) {
    fraction_ /= 2;
    ++shift_;
  }
  // Smaller factors leave nothing of any int32.
  if (shift_ < -31) fraction_ = shift_ = 0;
  shift_ = std::min(shift_, 30);
}

int64_t FixedPointMultiplier::operator()(int64_t x) const {
  const int total_shift = 31 - shift_;
  const __int128 product = static_cast<__int128>(x) * fraction_;
  return static_cast<int64_t>((product + (__int128{1} << (total_shift - 1))) >> total_shift);
}

}  // namespace tessera
