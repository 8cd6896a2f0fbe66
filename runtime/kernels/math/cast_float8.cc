// Cast to and from numbers of 8 bits: float8_e5m2 and float8_e4m3fn (P. Micikevicius et al., FP8
// formats for deep learning, 2022).
#include <algorithm>
#include <cmath>
#include <limits>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// A sign bit, then exponent and mantissa bits. e5m2 has infinities; e4m3fn has none, and its NaN is
// the one pattern with all bits set.
struct Float8Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int exponent_mask() const { return (1 << exponent_bits) - 1; }
  int mantissa_mask() const { return (1 << mantissa_bits) - 1; }
  int infinity() const { return exponent_mask() << mantissa_bits; }
  // The largest pattern of a finite number.
  int largest() const { return has_infinity ? infinity() - 1 : 0x7e; }
};
constexpr Float8Format kE5M2 = {5, 2, true};
constexpr Float8Format kE4M3 = {4, 3, false};

bool IsFloat8(DType dtype) { return dtype == DType::kFloat8E5M2 || dtype == DType::kFloat8E4M3FN; }
const Float8Format& FormatOf(DType dtype) { return dtype == DType::kFloat8E5M2 ? kE5M2 : kE4M3; }

float Decode(const Float8Format& format, uint8_t bits) {
  const int magnitude = bits & 0x7f;
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & format.mantissa_mask();
  float value;
  if (magnitude > format.largest()) {
    value = format.has_infinity && mantissa == 0 ? std::numeric_limits<float>::infinity()
                                                 : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), 1 - format.bias() - format.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<float>(mantissa | (1 << format.mantissa_bits)),
                       exponent - format.bias() - format.mantissa_bits);
  }
  return (bits & 0x80) != 0 ? -value : value;
}

// To the nearest, ties to even. What is too large becomes infinity, or NaN where there is none.
uint8_t Encode(const Float8Format& format, double value) {
  const int sign = std::signbit(value) ? 0x80 : 0;
  const int too_large = format.has_infinity ? format.infinity() : 0x7f;
  if (std::isnan(value)) {
    return static_cast<uint8_t>(sign | (format.has_infinity ? 0x7e : 0x7f));
  }
  if (std::isinf(value)) return static_cast<uint8_t>(sign | too_large);
  const double magnitude = std::abs(value);
  if (magnitude == 0) return static_cast<uint8_t>(sign);
  // Steps of the mantissa at this exponent; below the smallest normal number all are alike.
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  const double steps = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // Rounding up carries into the exponent by itself, as does a leading 1 into that of subnormals.
  const int64_t bits = static_cast<int64_t>(steps) - (int64_t{1} << format.mantissa_bits) +
                       (static_cast<int64_t>(exponent + format.bias()) << format.mantissa_bits);
  return static_cast<uint8_t>(sign | (bits > format.largest() ? too_large : bits));
}

// The number as another type; beyond the range of an integer, what x86 converts it to.
template <typename T>
T Converted(float value) {
  if constexpr (std::is_integral_v<T>) {
    constexpr float kEnd = 9223372036854775808.0f;
    const int64_t wide = value >= -kEnd && value < kEnd ? static_cast<int64_t>(value)
                                                        : std::numeric_limits<int64_t>::min();
    return static_cast<T>(wide);
  } else {
    return static_cast<T>(value);
  }
}

class CastFloat8Kernel : public OpKernel {
 public:
  explicit CastFloat8Kernel(const KernelBuild& build)
      : from_(build.attr<DType>("SrcT")), to_(build.attr<DType>("DstT")) {
    const bool is_float = from_ == DType::kFloat || from_ == DType::kDouble ||
                          from_ == DType::kHalf || from_ == DType::kBfloat16;
    if (IsFloat8(to_) && !IsFloat8(from_) && !is_float) {
      build.Fail(absl::UnimplementedError(
          absl::StrCat("cannot cast ", DTypeName(from_), " to ", DTypeName(to_))));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    if (from_ == to_) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    const int64_t count = x.num_elements();
    auto* const bytes_in = reinterpret_cast<const uint8_t*>(x.raw());
    auto* const bytes_out = reinterpret_cast<uint8_t*>(y->mutable_raw());
    if (IsFloat8(from_) && IsFloat8(to_)) {
      for (int64_t i = 0; i < count; ++i) {
        bytes_out[i] = Encode(FormatOf(to_), Decode(FormatOf(from_), bytes_in[i]));
      }
      return absl::OkStatus();
    }
    if (to_ == DType::kBool) {
      for (int64_t i = 0; i < count; ++i) y->data<bool>()[i] = (bytes_in[i] & 0x7f) != 0;
      return absl::OkStatus();
    }
    return VisitNumericType(IsFloat8(from_) ? to_ : from_, [&]<typename T>() {
      if (IsFloat8(from_)) {
        for (int64_t i = 0; i < count; ++i) {
          y->data<T>()[i] = Converted<T>(Decode(FormatOf(from_), bytes_in[i]));
        }
      } else if constexpr (!Eigen::NumTraits<T>::IsComplex) {
        for (int64_t i = 0; i < count; ++i) {
          bytes_out[i] = Encode(FormatOf(to_), static_cast<double>(x.data<T>()[i]));
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  const DType from_, to_;
};
// Found before the kernel of all other numbers, which is not for the CPU alone.
REGISTER_KERNEL("Cast", kCpu, CastFloat8Kernel)
    .TypeConstraint("SrcT", {DType::kFloat8E5M2, DType::kFloat8E4M3FN});
REGISTER_KERNEL("Cast", kCpu, CastFloat8Kernel)
    .TypeConstraint("DstT", {DType::kFloat8E5M2, DType::kFloat8E4M3FN});

}  // namespace
}  // namespace tessera
