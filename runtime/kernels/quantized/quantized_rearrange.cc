// Moving quantised numbers: QuantizedConcat, QuantizedReshape.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/quantized/quantized_type.h"

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

// Inputs: the axis, and N values, minima and maxima. Outputs: the numbers in a common range.
class QuantizedConcatKernel : public OpKernel {
 public:
  explicit QuantizedConcatKernel(const KernelBuild& build)
      : count_(static_cast<int>(build.attr<int64_t>("N"))) {}

  absl::Status Compute(KernelContext& ctx) override {
    return VisitQuantizedType(ctx.input(1).dtype(), [&]<typename T>() { return Concat<T>(ctx); });
  }

 private:
  template <typename T>
  absl::Status Concat(KernelContext& ctx) const {
    const Tensor& first = ctx.input(1);
    if (!ctx.input(0).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("concat_dim must be a scalar, has shape ", ctx.input(0).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(0), first.rank(), "concat_dim"));
    std::vector<QuantizedRange<T>> ranges;
    Shape shape = first.shape();
    shape.SetDim(axis, 0);
    for (int i = 0; i < count_; ++i) {
      const Tensor& x = ctx.input(1 + i);
      const Tensor& min = ctx.input(1 + count_ + i);
      const Tensor& max = ctx.input(1 + 2 * count_ + i);
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
      shape.SetDim(axis, shape.dim(axis) + x.dim(axis));
    }
    const QuantizedRange<T> common = CommonRange(ranges);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    const int64_t outer = DimProduct(shape, 0, axis);
    const int64_t row = DimProduct(shape, axis, shape.rank());
    int64_t offset = 0;
    for (int i = 0; i < count_; ++i) {
      const Tensor& x = ctx.input(1 + i);
      const int64_t part = DimProduct(x.shape(), axis, x.rank());
      const bool is_common = ranges[i].min == common.min && ranges[i].max == common.max;
      for (int64_t o = 0; o < outer; ++o) {
        const T* const from = Stored<T>(x) + o * part;
        std::transform(from, from + part, MutableStored<T>(y) + o * row + offset, [&](T q) {
          return is_common ? q : common.Quantize(ranges[i].Dequantize(q));
        });
      }
      offset += part;
    }
    return SetRange(ctx, 1, common);
  }

  const int count_;
};
REGISTER_KERNEL("QuantizedConcat", kCpu, QuantizedConcatKernel)
    .TypeConstraint("T", {DType::kQint32, DType::kQuint8});

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
      if (ctx.input(i).num_elements() == 1) continue;
      return absl::InvalidArgumentError("input_min and input_max must be scalars");
    }
    ASSIGN_OR_RETURN(Tensor y, x.Reshaped(shape));
    ctx.set_output(0, std::move(y));
    ctx.set_output(1, ctx.input(2));
    ctx.set_output(2, ctx.input(3));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("QuantizedReshape", kCpu, QuantizedReshapeKernel)
    .TypeConstraint("T", {DType::kQint32, DType::kQuint8});

}  // namespace
}  // namespace tessera
