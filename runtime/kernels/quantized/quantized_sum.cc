// Elementwise arithmetic on quantised numbers: QuantizedAdd, QuantizedMul, QuantizedBiasAdd.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/quantized/quantized_type.h"

namespace tessera {
namespace {

// The range of a sum as int32: symmetric, and far wider than the operands, so that it does not
// overflow when sums are added further.
template <typename A, typename B>
QuantizedRange<int32_t> SumRange(const QuantizedRange<A>& a, const QuantizedRange<B>& b,
                                 int shift) {
  const float largest = std::max(std::max(a.max, -a.min), std::max(b.max, -b.min));
  const float limit = largest * static_cast<float>(1 << shift);
  return {-limit, limit};
}

// How RangeAdder takes a number over to the range of the sum.
enum class Scaling {
  kExact,   // each number by itself
  kLinear,  // by the distance that 0 and 1 have there, in integers: what TensorFlow adds with
};

// Takes quantised numbers of one range to another.
template <typename T, Scaling kScaling>
class RangeConverter {
 public:
  RangeConverter(const QuantizedRange<T>& from, const QuantizedRange<int32_t>& to)
      : from_(from),
        to_(to),
        zero_(to.Unclamped(from.Dequantize(0))),
        step_(to.Unclamped(from.Dequantize(1)) - zero_) {}

  uint32_t operator()(T q) const {
    if constexpr (kScaling == Scaling::kExact) {
      return static_cast<uint32_t>(to_.Quantize(from_.Dequantize(q)));
    }
    return static_cast<uint32_t>(std::clamp<int64_t>(
        zero_ + q * step_, QuantizedRange<int32_t>::kLowest, QuantizedRange<int32_t>::kHighest));
  }

 private:
  const QuantizedRange<T> from_;
  const QuantizedRange<int32_t> to_;
  const int64_t zero_, step_;
};

// Adds numbers that mean different things, in the range of the sum. Sums wrap, as TensorFlow's do.
template <typename A, typename B, Scaling kScaling>
class RangeAdder {
 public:
  RangeAdder(const QuantizedRange<A>& a, const QuantizedRange<B>& b,
             const QuantizedRange<int32_t>& sum)
      : a_(a, sum), b_(b, sum) {}

  int32_t operator()(A a, B b) const { return static_cast<int32_t>(a_(a) + b_(b)); }

 private:
  const RangeConverter<A, kScaling> a_;
  const RangeConverter<B, kScaling> b_;
};

// Multiplies the distances from what stands for 0.
template <typename A, typename B>
class RangeMultiplier {
 public:
  RangeMultiplier(const QuantizedRange<A>& a, const QuantizedRange<B>& b)
      : zero_a_(static_cast<uint32_t>(a.Unclamped(0))),
        zero_b_(static_cast<uint32_t>(b.Unclamped(0))) {}

  int32_t operator()(A a, B b) const {
    return static_cast<int32_t>((static_cast<uint32_t>(a) - zero_a_) *
                                (static_cast<uint32_t>(b) - zero_b_));
  }

 private:
  const uint32_t zero_a_, zero_b_;
};

// How one operand repeats along another: element i of the larger one meets element i % period of
// the smaller one. Errors: INVALID_ARGUMENT for shapes that do not broadcast; UNIMPLEMENTED, as in
// TensorFlow, where that is no such repetition.
absl::StatusOr<int64_t> Period(const Tensor& larger, const Tensor& smaller) {
  const int gap = larger.rank() - smaller.rank();
  bool repeats = true, is_leading = true;
  for (int d = 0; d < larger.rank(); ++d) {
    const int64_t size = d < gap ? 1 : smaller.dim(d - gap);
    if (size != larger.dim(d) && size != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Incompatible shapes: ", larger.shape().ToString(), " and ", smaller.shape().ToString()));
    }
    if (size == larger.dim(d) && size != 1) is_leading = false;
    repeats = repeats && (is_leading || size == larger.dim(d));
  }
  if (repeats) return std::max<int64_t>(1, smaller.num_elements());
  return absl::UnimplementedError(absl::StrCat("Broadcast between ", larger.shape().ToString(),
                                               " and ", smaller.shape().ToString(),
                                               " is not supported yet."));
}

enum class Arithmetic { kAdd, kMultiply };

// Inputs: a, b, and the ranges of both. Outputs: numbers of int32 and their range.
template <Arithmetic kArithmetic>
class QuantizedBinaryKernel : public OpKernel {
 public:
  explicit QuantizedBinaryKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    return VisitQuantizedType(ctx.input(0).dtype(), [&]<typename A>() {
      return VisitQuantizedType(ctx.input(1).dtype(),
                                [&]<typename B>() { return Combine<A, B>(ctx); });
    });
  }

 private:
  template <typename A, typename B>
  static absl::Status Combine(KernelContext& ctx) {
    ASSIGN_OR_RETURN(const auto range_a, ReadRange<A>(ctx, 2));
    ASSIGN_OR_RETURN(const auto range_b, ReadRange<B>(ctx, 4));
    if (range_a.min == range_a.max || range_b.min == range_b.max) {
      return absl::InvalidArgumentError("the maximum of a range must be above its minimum");
    }
    if constexpr (kArithmetic == Arithmetic::kMultiply) {
      return Apply<A, B>(ctx, RangeMultiplier<A, B>(range_a, range_b),
                         ProductRange(range_a, range_b));
    } else {
      const QuantizedRange<int32_t> sum = SumRange(range_a, range_b, 14);
      return Apply<A, B>(ctx, RangeAdder<A, B, Scaling::kLinear>(range_a, range_b, sum), sum);
    }
  }

  template <typename A, typename B, typename Function>
  static absl::Status Apply(KernelContext& ctx, const Function& function,
                            const QuantizedRange<int32_t>& range) {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    const bool a_is_larger =
        a.rank() != b.rank() ? a.rank() > b.rank() : a.num_elements() >= b.num_elements();
    const Tensor& larger = a_is_larger ? a : b;
    ASSIGN_OR_RETURN(const int64_t period, Period(larger, a_is_larger ? b : a));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, larger.shape()));
    auto* const to = MutableStored<int32_t>(y);
    ctx.ParallelFor(larger.num_elements(), 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = function(Stored<A>(a)[a_is_larger ? i : i % period],
                         Stored<B>(b)[a_is_larger ? i % period : i]);
      }
    });
    return SetRange(ctx, 1, range);
  }
};
REGISTER_KERNEL("QuantizedAdd", kCpu, QuantizedBinaryKernel<Arithmetic::kAdd>)
    .TypeConstraint("T1", {DType::kQuint8})
    .TypeConstraint("T2", {DType::kQuint8})
    .TypeConstraint("Toutput", {DType::kQint32});
REGISTER_KERNEL("QuantizedMul", kCpu, QuantizedBinaryKernel<Arithmetic::kMultiply>)
    .TypeConstraint("T1", {DType::kQuint8})
    .TypeConstraint("T2", {DType::kQuint8})
    .TypeConstraint("Toutput", {DType::kQint32});

// Inputs: numbers, a vector for their last dimension, and the ranges of both.
class QuantizedBiasAddKernel : public OpKernel {
 public:
  explicit QuantizedBiasAddKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& bias = ctx.input(1);
    if (x.rank() < 2 || !bias.shape().IsVector() || bias.dim(0) != x.dim(x.rank() - 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the input must be a matrix and the bias a vector for its last dimension, ",
          "they have shapes ", x.shape().ToString(), " and ", bias.shape().ToString()));
    }
    return VisitQuantizedType(x.dtype(), [&]<typename A>() {
      return VisitQuantizedType(bias.dtype(), [&]<typename B>() { return Add<A, B>(ctx); });
    });
  }

 private:
  template <typename A, typename B>
  static absl::Status Add(KernelContext& ctx) {
    const Tensor& x = ctx.input(0);
    const Tensor& bias = ctx.input(1);
    ASSIGN_OR_RETURN(const auto range_x, ReadRange<A>(ctx, 2));
    ASSIGN_OR_RETURN(const auto range_bias, ReadRange<B>(ctx, 4));
    const QuantizedRange<int32_t> sum = SumRange(range_x, range_bias, 17);
    const RangeAdder<A, B, Scaling::kExact> add(range_x, range_bias, sum);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      MutableStored<int32_t>(y)[i] = add(Stored<A>(x)[i], Stored<B>(bias)[i % bias.dim(0)]);
    }
    return SetRange(ctx, 1, sum);
  }
};
REGISTER_KERNEL("QuantizedBiasAdd", kCpu, QuantizedBiasAddKernel)
    .TypeConstraint("T1", {DType::kQint8, DType::kQuint8})
    .TypeConstraint("T2", {DType::kQint8, DType::kQuint8})
    .TypeConstraint("out_type", {DType::kQint32});

}  // namespace
}  // namespace tessera
