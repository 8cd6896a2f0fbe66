// Floats rounded to what quantised numbers can show: QuantizeAndDequantize and its versions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// How the quantised numbers lie over the floats.
template <typename C>
struct QuantizedRange {
  QuantizedRange(C min, C max, int bits, bool is_signed, bool narrow) : min(min), max(max) {
    const C lowest =
        is_signed ? -static_cast<C>(int64_t{1} << (bits - 1)) + (narrow ? C(1) : C(0)) : C(0);
    const C highest = static_cast<C>((int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1);
    constexpr C kNone = std::numeric_limits<C>::max();
    const C from_min = lowest * min > 0 ? lowest / min : kNone;
    const C from_max = highest * max > 0 ? highest / max : kNone;
    if (from_min < from_max) {
      scale = from_min;
      inverse = min / lowest;
      this->max = highest * inverse;
    } else {
      scale = from_max;
      inverse = max / highest;
      this->min = lowest * inverse;
    }
  }
  C min, max, scale, inverse;
};

// The least and the greatest of numbers, NaNs left out. The greatest and the lowest finite number
// of none.
template <typename C>
class Ends {
 public:
  Ends() {
    std::fill_n(min_, kLanes, std::numeric_limits<C>::max());
    std::fill_n(max_, kLanes, std::numeric_limits<C>::lowest());
  }

  template <typename T>
  void Widen(const T* x, int64_t count) {
    // Each lane takes every kLanes-th number, so that the loop vectorises.
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
#pragma GCC ivdep
      for (int lane = 0; lane < kLanes; ++lane) {
        const C value = static_cast<C>(x[i + lane]);
        min_[lane] = value < min_[lane] ? value : min_[lane];
        max_[lane] = value > max_[lane] ? value : max_[lane];
      }
    }
    for (; i < count; ++i) {
      min_[0] = std::min(min_[0], static_cast<C>(x[i]));
      max_[0] = std::max(max_[0], static_cast<C>(x[i]));
    }
  }

  C min() const { return *std::min_element(min_, min_ + kLanes); }
  C max() const { return *std::max_element(max_, max_ + kLanes); }

 private:
  static constexpr int kLanes = 64;

  C min_[kLanes], max_[kLanes];
};

// Rounds numbers to multiples of range.inverse, half up or to even ones. Those outside of the range
// are brought to its ends before if `clamps`.
template <bool kHalfUp, typename T, typename C>
void RoundAll(const T* from, int64_t count, const QuantizedRange<C>& range, bool clamps, T* to) {
  const C low = range.min, high = range.max, scale = range.scale, inverse = range.inverse;
  const auto round = [=](C value) __attribute__((always_inline)) {
    const C scaled = value * scale;
    return static_cast<T>((kHalfUp ? std::floor(scaled + C(0.5)) : std::nearbyint(scaled)) *
                          inverse);
  };
  if (clamps) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const C value = static_cast<C>(from[i]);
      const C below = high < value ? high : value;
      to[i] = round(below < low ? low : below);
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = round(static_cast<C>(from[i]));
  }
}

// Inputs: floats; for versions 2 to 4 the range, one or one for each slice along `axis`, which
// counts if it is given, else that of the floats does; for version 3 the number of bits.
// Errors: INVALID_ARGUMENT for another shape of the range, a minimum above the maximum, or a number
// of bits that does not fit.
class QuantizeAndDequantizeKernel : public OpKernel {
 public:
  explicit QuantizeAndDequantizeKernel(const KernelBuild& build)
      : signed_(build.attr<bool>("signed_input")),
        range_given_(build.attr<bool>("range_given")),
        narrow_(build.has_attr("narrow_range") && build.attr<bool>("narrow_range")),
        half_up_(build.has_attr("round_mode") &&
                 build.attr<std::string>("round_mode") == "HALF_UP"),
        axis_(build.has_attr("axis") ? build.attr<int64_t>("axis") : -1),
        bits_(build.has_attr("num_bits") ? build.attr<int64_t>("num_bits") : 0),
        min_(build.has_attr("input_min") ? build.attr<float>("input_min") : 0),
        max_(build.has_attr("input_max") ? build.attr<float>("input_max") : 0) {
    if (build.has_attr("num_bits")) build.Fail(CheckBits(bits_));
    if (axis_ < -1) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("axis must be at least -1, is ", axis_)));
    }
    if (build.num_inputs() == 1 && range_given_ && min_ > max_) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("the minimum ", min_, " is above the maximum ", max_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    int64_t bits = bits_;
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(bits, ReadIntegerOfScalar(ctx.input(3), "num_bits"));
      RETURN_IF_ERROR(CheckBits(bits));
    }
    // With num_bits as an input, TensorFlow refuses scalars as a whole, too.
    if (axis_ >= x.rank() || (ctx.num_inputs() > 3 && x.rank() == 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis_, " is none of shape ", x.shape().ToString()));
    }
    const int axis = static_cast<int>(axis_);
    const int64_t slices = axis < 0 ? 1 : x.dim(axis);
    const int64_t inner = axis < 0 ? x.num_elements() : DimProduct(x.shape(), axis + 1, x.rank());
    const int64_t outer = axis < 0 ? 1 : DimProduct(x.shape(), 0, axis);
    if (range_given_ && ctx.num_inputs() > 1) RETURN_IF_ERROR(CheckRange(ctx, axis, slices));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    // There may be more empty slices than anybody can go through.
    if (axis >= 0 && y->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(x.dtype(), [&]<typename T>() -> absl::Status {
      using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const T* const from = x.data<T>();
      T* const to = y->data<T>();
      for (int64_t s = 0; s < slices; ++s) {
        C min = static_cast<C>(min_), max = static_cast<C>(max_);
        if (range_given_ && ctx.num_inputs() > 1) {
          min = static_cast<C>(ctx.input(1).data<T>()[s]);
          max = static_cast<C>(ctx.input(2).data<T>()[s]);
        } else if (!range_given_) {
          Ends<C> ends;
          for (int64_t o = 0; o < outer; ++o) {
            ends.Widen(from + (o * slices + s) * inner, inner);
          }
          min = ends.min();
          max = ends.max();
        }
        if (range_given_ && min > max) {
          return absl::InvalidArgumentError(
              absl::StrCat("the minimum ", min, " is above the maximum ", max));
        }
        const QuantizedRange<C> range(min, max, static_cast<int>(bits), signed_, narrow_);
        for (int64_t o = 0; o < outer; ++o) {
          const int64_t start = (o * slices + s) * inner;
          if (half_up_) {
            RoundAll<true>(from + start, inner, range, range_given_, to + start);
          } else {
            RoundAll<false>(from + start, inner, range, range_given_, to + start);
          }
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  absl::Status CheckBits(int64_t bits) const {
    if (bits > 0 && bits < (signed_ ? 62 : 63)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("num_bits must lie between 1 and ", signed_ ? 61 : 62, ", is ", bits));
  }

  static absl::Status CheckRange(KernelContext& ctx, int axis, int64_t slices) {
    for (int i : {1, 2}) {
      const Tensor& end = ctx.input(i);
      // Version 3 takes any tensor of one element, as TensorFlow's does.
      const bool fits = axis >= 0              ? end.shape() == Shape{slices}
                        : ctx.num_inputs() > 3 ? end.num_elements() == 1
                                               : end.shape().IsScalar();
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat("the range must have ", slices,
                                                       " minima and maxima, input ", i,
                                                       " has shape ", end.shape().ToString()));
      }
    }
    return absl::OkStatus();
  }

  const bool signed_, range_given_, narrow_, half_up_;
  const int64_t axis_, bits_;
  const float min_, max_;
};
// Inputs: gradients, the input of QuantizeAndDequantizeV4, and its range, one for all or one a
// slice along `axis`. What lay outside of the range has no gradient, and the range has none either.
class QuantizeAndDequantizeGradKernel : public OpKernel {
 public:
  explicit QuantizeAndDequantizeGradKernel(const KernelBuild& build)
      : axis_(build.attr<int64_t>("axis")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    const Tensor& x = ctx.input(1);
    const Tensor& min = ctx.input(2);
    const Tensor& max = ctx.input(3);
    if (gradient.shape() != x.shape()) {
      return absl::InvalidArgumentError(absl::StrCat("gradients have shape ",
                                                     gradient.shape().ToString(), ", the input ",
                                                     x.shape().ToString()));
    }
    if (axis_ < -1 || axis_ >= x.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis_, " is none of shape ", x.shape().ToString()));
    }
    const int axis = static_cast<int>(axis_);
    const int64_t slices = axis < 0 ? 1 : x.dim(axis);
    for (const Tensor* end : {&min, &max}) {
      const Shape wanted = axis < 0 ? Shape() : Shape{slices};
      if (end->shape() == wanted) continue;
      return absl::InvalidArgumentError(absl::StrCat("the ends of the range must have shape ",
                                                     wanted.ToString(), ", one has shape ",
                                                     end->shape().ToString()));
    }
    const int64_t inner = axis < 0 ? 1 : DimProduct(x.shape(), axis + 1, x.rank());
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    for (int i = 1; i < 3; ++i) {
      ASSIGN_OR_RETURN(Tensor zeros, ctx.AllocateZeros(x.dtype(), ctx.input(i + 1).shape()));
      ctx.set_output(i, std::move(zeros));
    }
    return VisitRealType(x.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const int64_t s = slices == 0 ? 0 : i / inner % slices;
        const T value = x.data<T>()[i];
        const bool is_inside = value >= min.data<T>()[s] && value <= max.data<T>()[s];
        y->data<T>()[i] = is_inside ? gradient.data<T>()[i] : T(0);
      }
      return absl::OkStatus();
    });
  }

 private:
  const int64_t axis_;
};
REGISTER_KERNEL("QuantizeAndDequantizeV4Grad", kCpu, QuantizeAndDequantizeGradKernel)
    .TypeConstraint("T", {DType::kFloat, DType::kDouble});

REGISTER_KERNEL("QuantizeAndDequantize", kCpu, QuantizeAndDequantizeKernel);
REGISTER_KERNEL("QuantizeAndDequantizeV2", kCpu, QuantizeAndDequantizeKernel);
REGISTER_KERNEL("QuantizeAndDequantizeV3", kCpu, QuantizeAndDequantizeKernel)
    .HostMemory("num_bits");
REGISTER_KERNEL("QuantizeAndDequantizeV4", kCpu, QuantizeAndDequantizeKernel);

}  // namespace
}  // namespace tessera
