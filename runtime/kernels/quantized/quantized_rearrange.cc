// Moving quantised numbers: QuantizedConcat, QuantizedConcatV2, QuantizedReshape.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/quantized/quantized_type.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Returns a range that holds those of all inputs, and 0. That of signed numbers is symmetric.
template <typename T>
QuantizedRange<T> CommonRange(const std::vector<QuantizedRange<T>>& ranges) {
  QuantizedRange<T> common{0, ranges[0].max};
  for (const QuantizedRange<T>& range : ranges) {
    common.min = std::min(common.min, range.min);
    common.max = std::max(common.max, range.max);
  }
  if (!std::is_signed_v<T>) return common;
  const float limit = std::max(std::abs(common.min), std::abs(common.max));
  return {-limit, limit};
}

// Brings bytes of one range to another, in float, as oneDNN's kernels of TensorFlow do. (With
// double in between, some numbers in the middle of two become the other one.)
template <typename T>
class ByteRequantizer {
 public:
  ByteRequantizer(const QuantizedRange<T>& from, const QuantizedRange<T>& to)
      : level_((from.max - from.min) / kSteps),
        zero_((from.min == from.max ? from.min : std::round(from.min / level_) * level_) -
              kLowest * level_),
        scale_(to.min == to.max ? 0.0f : kSteps / (to.max - to.min)),
        shift_(std::round(to.min * scale_) - kLowest) {}

  T operator()(T q) const {
    const float x = zero_ + static_cast<float>(q) * level_;
    return static_cast<T>(std::clamp(std::round(x * scale_) - shift_, kLowest, kLowest + kSteps));
  }

 private:
  static constexpr float kLowest = std::numeric_limits<T>::lowest(), kSteps = 255;

  const float level_, zero_, scale_, shift_;
};

// Inputs: N values, minima and maxima, and the axis, which QuantizedConcat has first and
// QuantizedConcatV2, oneDNN's op for bytes, after the values. Outputs: the numbers in a common
// range.
class QuantizedConcatKernel : public OpKernel {
 public:
  explicit QuantizedConcatKernel(const KernelBuild& build)
      : count_(static_cast<int>(build.attr<int64_t>("N"))),
        is_second_(build.op().name == "QuantizedConcatV2"),
        values_(build.inputs("values").begin),
        axis_(build.inputs(is_second_ ? "axis" : "concat_dim").begin),
        minima_(build.inputs("input_mins").begin),
        maxima_(build.inputs("input_maxes").begin) {}

  absl::Status Compute(KernelContext& ctx) override {
    return VisitQuantizedType(ctx.input(values_).dtype(),
                              [&]<typename T>() { return Concat<T>(ctx); });
  }

 private:
  template <typename T>
  absl::Status Concat(KernelContext& ctx) const {
    const Tensor& first = ctx.input(values_);
    if (!ctx.input(axis_).shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat("the axis must be a scalar, has shape ",
                                                     ctx.input(axis_).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(axis_), first.rank(), "the axis"));
    std::vector<QuantizedRange<T>> ranges;
    Shape shape = first.shape();
    shape.SetDim(axis, 0);
    for (int i = 0; i < count_; ++i) {
      const Tensor& x = ctx.input(values_ + i);
      const Tensor& min = ctx.input(minima_ + i);
      const Tensor& max = ctx.input(maxima_ + i);
      if (min.num_elements() != 1 || max.num_elements() != 1) {
        return absl::InvalidArgumentError("minima and maxima of the inputs must be scalars");
      }
      ranges.push_back({min.scalar<float>(), max.scalar<float>()});
      bool fits = x.rank() == first.rank();
      for (int d = 0; fits && d < x.rank(); ++d) fits = d == axis || x.dim(d) == first.dim(d);
      if (!fits) {
        return absl::InvalidArgumentError(
            absl::StrCat("inputs of shapes ", first.shape().ToString(), " and ",
                         x.shape().ToString(), " cannot be joined along axis ", axis));
      }
      int64_t size;
      if (__builtin_add_overflow(shape.dim(axis), x.dim(axis), &size)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the inputs are too large to be joined along axis ", axis));
      }
      shape.SetDim(axis, size);
    }
    QuantizedRange<T> common = CommonRange(ranges);
    // Bytes without a sign then stand for nothing below 0, whatever their ranges say.
    if (is_second_ && !std::is_signed_v<T>) common.min = 0;
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(SetRange(ctx, 1, common));
    if (y->num_elements() == 0) return absl::OkStatus();
    const int64_t outer = DimProduct(shape, 0, axis);
    const int64_t row = DimProduct(shape, axis, shape.rank());
    int64_t offset = 0;
    for (int i = 0; i < count_; ++i) {
      const Tensor& x = ctx.input(values_ + i);
      const int64_t part = DimProduct(x.shape(), axis, x.rank());
      const bool is_common = ranges[i].min == common.min && ranges[i].max == common.max;
      const ByteRequantizer<T> requantize(ranges[i], common);
      for (int64_t o = 0; o < outer; ++o) {
        const T* const from = Stored<T>(x) + o * part;
        std::transform(from, from + part, MutableStored<T>(y) + o * row + offset, [&](T q) {
          if (is_common) return q;
          if (is_second_) return requantize(q);
          return common.Quantize(ranges[i].Dequantize(q));
        });
      }
      offset += part;
    }
    return absl::OkStatus();
  }

  const int count_;
  const bool is_second_;
  const int values_, axis_, minima_, maxima_;  // positions of inputs
};
REGISTER_KERNEL("QuantizedConcat", kCpu, QuantizedConcatKernel)
    .TypeConstraint("T", {DType::kQint32, DType::kQuint8});
REGISTER_KERNEL("QuantizedConcatV2", kCpu, QuantizedConcatKernel)
    .TypeConstraint("T", {DType::kQint8, DType::kQuint8});

// Inputs: numbers, the shape, of which one size may be -1, and the range.
class QuantizedReshapeKernel : public OpKernel {
 public:
  explicit QuantizedReshapeKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (!ctx.input(1).shape().IsVector()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape must be a vector, has shape ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(IndexVector sizes, ReadIndexVector(ctx.input(1), "shape"));
    int64_t known = 1;
    int64_t* unknown = nullptr;
    for (int64_t& size : sizes) {
      if (size == -1 && unknown == nullptr) {
        unknown = &size;
      } else if (size < 0 || __builtin_mul_overflow(known, size, &known)) {
        return absl::InvalidArgumentError(absl::StrCat("a size of the new shape cannot be ", size));
      }
    }
    if (unknown != nullptr) *unknown = known == 0 ? 0 : x.num_elements() / known;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes));
    if (shape.num_elements() != x.num_elements()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input to reshape is a tensor with ", x.num_elements(),
                       " values, but the requested shape has ", shape.num_elements()));
    }
    for (int i = 2; i < 4; ++i) {
      const Tensor& end = ctx.input(i);
      if (end.rank() <= 1 && end.num_elements() == 1) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input_min and input_max must be scalars or vectors of one element, one has "
                       "shape ",
                       end.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor y, x.Reshaped(shape));
    ctx.set_output(0, std::move(y));
    // The ends of the range are scalars from here on.
    for (int i = 1; i < 3; ++i) {
      RETURN_IF_ERROR(SetScalarOutput(ctx, i, *ctx.input(i + 1).data<float>()));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("QuantizedReshape", kCpu, QuantizedReshapeKernel)
    .TypeConstraint("T", {DType::kQint32, DType::kQuint8});

}  // namespace
}  // namespace tessera
