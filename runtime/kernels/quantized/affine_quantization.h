// Uniform (affine) quantisation: a number q stands for (q - zero_point) * scale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The attributes PREFIXquantization_axis, _min_val and _max_val of a node.
struct QuantizationAttrs {
  QuantizationAttrs(const KernelBuild& build, const std::string& prefix);
  int64_t axis, min, max;
};

// Scales and zero points of a tensor: one for all, or one for each slice along an axis.
class AffineQuantization {
 public:
  // Errors: INVALID_ARGUMENT for shapes that do not fit `shape` and the axis.
  static absl::StatusOr<AffineQuantization> Read(const Tensor& scales, const Tensor& zero_points,
                                                 const QuantizationAttrs& attrs,
                                                 const Shape& shape);
  // Does what Read() does. Errors: INVALID_ARGUMENT also for a scale that is not positive.
  static absl::StatusOr<AffineQuantization> ReadPositive(const Tensor& scales,
                                                         const Tensor& zero_points,
                                                         const QuantizationAttrs& attrs,
                                                         const Shape& shape);

  // The parameters of the element at a row-major position.
  float scale(int64_t position) const { return scales_[Slice(position)]; }
  int32_t zero_point(int64_t position) const { return zero_points_[Slice(position)]; }
  // Rounds half up, and clamps to the range of the attributes.
  int32_t Quantize(float x, int64_t position) const;
  int32_t Clamp(int64_t q) const;

 private:
  int64_t Slice(int64_t position) const { return position / inner_ % count_; }

  std::vector<float> scales_;
  std::vector<int32_t> zero_points_;
  int64_t count_ = 1, inner_ = 1;
  int64_t min_ = 0, max_ = 0;
};

// Floats as int8 numbers whose range spans them and 0, as TensorFlow's hybrid kernels quantise
// their left operand while they run.
struct DynamicQuantization {
  explicit DynamicQuantization(absl::Span<const float> values);

  std::vector<int32_t> numbers;  // less the zero point
  float scale = 0;
};

// Multiplication by a positive real number in integers: a fraction of 31 bits and a shift, as
// TensorFlow Lite does it.
class FixedPointMultiplier {
 public:
  explicit FixedPointMultiplier(double factor);
  // Rounds half up.
  int64_t operator()(int64_t x) const;

 private:
  int64_t fraction_ = 0;
  int shift_ = 0;
};

}  // namespace tessera
