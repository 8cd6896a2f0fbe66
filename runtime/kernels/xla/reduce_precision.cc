// XlaReducePrecision: rounds numbers to a format with fewer bits, and stores them as before.
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Numbers of an IEEE format by their bits, rounded to one of `exponent_bits` and `mantissa_bits`.
template <typename Bits, int kExponentBits, int kMantissaBits>
class PrecisionReducer {
 public:
  PrecisionReducer(int64_t exponent_bits, int64_t mantissa_bits)
      : keeps_nan_(mantissa_bits > 0),
        dropped_(mantissa_bits < kMantissaBits ? kMantissaBits - static_cast<int>(mantissa_bits)
                                               : 0),
        narrows_exponent_(exponent_bits < kExponentBits) {
    if (!narrows_exponent_) return;
    const Bits bias = Bits((Bits{1} << (kExponentBits - 1)) - 1);
    const Bits narrow_bias = Bits((Bits{1} << (exponent_bits - 1)) - 1);
    largest_ = Bits(Bits(bias + narrow_bias) << kMantissaBits);
    below_smallest_ = Bits(Bits(bias - narrow_bias) << kMantissaBits);
  }

  Bits operator()(Bits number) const {
    const bool is_nan = Bits(number & ~kSign) > kExponent;
    if (is_nan) return keeps_nan_ ? number : kExponent;
    Bits reduced = number;
    if (dropped_ > 0) {
      // Half to even. A carry out of the mantissa rightly raises the exponent.
      const Bits last = Bits(number >> dropped_) & 1;
      const Bits half = Bits((Bits{1} << (dropped_ - 1)) - 1 + last);
      reduced = Bits(Bits(number + half) & Bits(~Bits((Bits{1} << dropped_) - 1)));
    }
    if (narrows_exponent_) {
      const Bits exponent = reduced & kExponent, sign = reduced & kSign;
      if (exponent > largest_) return sign | kExponent;
      if (exponent <= below_smallest_) return sign;
    }
    return reduced;
  }

 private:
  static constexpr Bits kSign = Bits(Bits{1} << (kExponentBits + kMantissaBits));
  static constexpr Bits kExponent = Bits(Bits((Bits{1} << kExponentBits) - 1) << kMantissaBits);

  const bool keeps_nan_;  // without a mantissa they become infinity
  const int dropped_;
  const bool narrows_exponent_;
  Bits largest_ = 0, below_smallest_ = 0;  // exponents in place
};

// Errors: INVALID_ARGUMENT for less than one exponent bit or a negative number of mantissa bits.
class ReducePrecisionKernel final : public OpKernel {
 public:
  explicit ReducePrecisionKernel(const KernelBuild& build)
      : exponent_bits_(build.attr<int64_t>("exponent_bits")),
        mantissa_bits_(build.attr<int64_t>("mantissa_bits")) {
    if (exponent_bits_ >= 1 && mantissa_bits_ >= 0) return;
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("exponent_bits must be at least 1 and mantissa_bits at least 0, are ",
                     exponent_bits_, " and ", mantissa_bits_)));
  }

  absl::Status Compute(KernelContext& ctx) override {
    switch (ctx.input(0).dtype()) {
      case DType::kHalf:
        return Reduce<uint16_t, 5, 10>(ctx);
      case DType::kBfloat16:
        return Reduce<uint16_t, 8, 7>(ctx);
      case DType::kFloat:
        return Reduce<uint32_t, 8, 23>(ctx);
      default:
        return Reduce<uint64_t, 11, 52>(ctx);
    }
  }

 private:
  template <typename Bits, int kExponentBits, int kMantissaBits>
  absl::Status Reduce(KernelContext& ctx) const {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    const PrecisionReducer<Bits, kExponentBits, kMantissaBits> reduce(exponent_bits_,
                                                                      mantissa_bits_);
    const auto* const from = reinterpret_cast<const Bits*>(x.raw());
    auto* const to = reinterpret_cast<Bits*>(y->mutable_raw());
    ctx.ParallelFor(x.num_elements(), 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = reduce(from[i]);
    });
    return absl::OkStatus();
  }

  const int64_t exponent_bits_, mantissa_bits_;
};
REGISTER_KERNEL("XlaReducePrecision", kCpu, ReducePrecisionKernel);

}  // namespace
}  // namespace tessera
