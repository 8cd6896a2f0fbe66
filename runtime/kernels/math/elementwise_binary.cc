// Arithmetic of two operands, and clipping between two.
#include <cmath>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/primitives/cpu/vector_math.h"

namespace tessera {
namespace {

// Division of integers traps for a divisor of -1 and the least dividend, whose quotient wraps
// around to itself; a zero divisor is an error before it gets here.
template <typename T>
constexpr bool IsMinusOne(T y) {
  if constexpr (std::is_signed_v<T>) return y == T{-1};
  return false;
}

// Towards zero.
struct TruncateDiv {
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) return IsMinusOne(y) ? -x : x / y;
    if constexpr (std::is_floating_point_v<T>) return std::trunc(x / y);
    return x / y;
  }
};

// As integers divide in C++, as floating point numbers divide.
struct Div {
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) return TruncateDiv{}(x, y);
    return x / y;
  }
};

// Towards minus infinity.
struct FloorDiv {
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(x / y);
    } else if constexpr (std::is_unsigned_v<T>) {
      return x / y;
    } else {
      if (IsMinusOne(y)) return -x;
      const T quotient = x / y;
      return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
    }
  }
};

// The remainder of a truncated quotient, with the dividend's sign.
struct TruncateMod {
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(x, y);
    } else {
      return IsMinusOne(y) ? T{0} : x % y;
    }
  }
};

// The remainder of a floored quotient, with the divisor's sign.
struct FloorMod {
  template <typename T>
  T operator()(T x, T y) const {
    const T remainder = TruncateMod{}(x, y);
    return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
  }
};

struct Pow {
  template <typename T>
  T operator()(T x, T y) const {
    if constexpr (!std::is_integral_v<T>) {
      return std::pow(x, y);
    } else {
      T result = 1;
      for (; y > 0; y >>= 1, x *= x) {
        if ((y & 1) != 0) result *= x;
      }
      return result;
    }
  }
};

struct SquaredDifference {
  template <typename T>
  T operator()(T x, T y) const {
    return (x - y) * (x - y);
  }
  template <typename T>
  std::complex<T> operator()(std::complex<T> x, std::complex<T> y) const {
    return std::norm(x - y);
  }
};

// A NaN on either side wins.
struct Maximum {
  template <typename T>
  T operator()(T x, T y) const {
    const T chosen = x > y ? x : y;  // y if that is NaN
    if constexpr (std::is_floating_point_v<T>) return x != x ? x : chosen;
    return chosen;
  }
};
struct Minimum {
  template <typename T>
  T operator()(T x, T y) const {
    const T chosen = x < y ? x : y;  // y if that is NaN
    if constexpr (std::is_floating_point_v<T>) return x != x ? x : chosen;
    return chosen;
  }
};

// A zero `x` gives 0 whatever the rest is; and a zero divisor or factor `y` does.
template <typename T>
T ZeroIf(bool condition, T value) {
  return condition ? T{0} : value;
}

// TensorFlow's code for the truncating ops.
absl::Status DivisorIsZeroInternal(const Tensor& divisor) {
  const absl::Status status = DivisorIsZero(divisor);
  return status.ok() ? status : absl::InternalError(status.message());
}

constexpr DTypeSet kDividing = kFloating | kComplex;

REGISTER_BINARY("AddV2", kNumeric, [](auto x, auto y) { return x + y; });
REGISTER_BINARY("Add", kNumeric | kString, [](auto x, auto y) { return x + y; });
REGISTER_BINARY("Sub", kNumeric, [](auto x, auto y) { return x - y; });
REGISTER_BINARY("Mul", kNumeric, [](auto x, auto y) { return x * y; });
REGISTER_BINARY("MulNoNan", kDividing,
                [](auto x, auto y) { return ZeroIf(y == decltype(y){0}, x * y); });
REGISTER_BINARY("Div", kNumeric, Div{}, ErrorIf(DivisorIsZero));
REGISTER_BINARY("RealDiv", kDividing, [](auto x, auto y) { return x / y; });
REGISTER_BINARY("DivNoNan", kDividing,
                [](auto x, auto y) { return ZeroIf(y == decltype(y){0}, x / y); });
REGISTER_BINARY("TruncateDiv", kReal, TruncateDiv{}, ErrorIf(DivisorIsZeroInternal));
REGISTER_BINARY("FloorDiv", kReal, FloorDiv{}, ErrorIf(DivisorIsZero), Cost(1));
REGISTER_BINARY("FloorMod", kReal, FloorMod{}, ErrorIf(DivisorIsZero), Cost(5));
REGISTER_BINARY("Mod", kReal, TruncateMod{}, ErrorIf(DivisorIsZero), Cost(5));
REGISTER_BINARY("TruncateMod", kReal, TruncateMod{}, ErrorIf(DivisorIsZeroInternal), Cost(5));
REGISTER_BINARY("SquaredDifference", kNumeric, SquaredDifference{});
REGISTER_BINARY("Maximum", kReal, Maximum{});
REGISTER_BINARY("Minimum", kReal, Minimum{});

REGISTER_BINARY("Pow", kSigned | kFloating | kComplex, Pow{}, ErrorIf(ExponentIsNegative), Cost(6));
REGISTER_BINARY(
    "Atan2", kFloating, [](auto y, auto x) { return std::atan2(y, x); }, Cost(15));
REGISTER_BINARY(
    "NextAfter", kFloating & ~kNarrowFloat, [](auto x, auto y) { return std::nextafter(x, y); },
    Cost(5));
REGISTER_BINARY("Xdivy", kDividing,
                [](auto x, auto y) { return ZeroIf(x == decltype(x){0}, x / y); });
REGISTER_BINARY(
    "Xlogy", kDividing,
    [](auto x, auto y) { return ZeroIf(x == decltype(x){0}, x * math::Log(y)); }, Cost(1));
REGISTER_BINARY(
    "Xlog1py", kDividing,
    [](auto x, auto y) { return ZeroIf(x == decltype(x){0}, x * math::Log1p(y)); }, Cost(1));

// Parts of complex numbers are clipped each by itself. NaN stays. Should the bounds be the wrong
// way round, the lower one wins.
struct Clip {
  template <typename T>
  T operator()(T x, T low, T high) const {
    const T lowered = x > high ? high : x;
    return lowered < low ? low : lowered;
  }
  template <typename T>
  std::complex<T> operator()(std::complex<T> x, std::complex<T> low, std::complex<T> high) const {
    return {(*this)(x.real(), low.real(), high.real()), (*this)(x.imag(), low.imag(), high.imag())};
  }
};
REGISTER_TERNARY("ClipByValue", kNumeric, Clip{}, SameShapes());

REGISTER_BINARY("Complex", kFloating & ~kNarrowFloat,
                [](auto x, auto y) { return std::complex(x, y); });

}  // namespace
}  // namespace tessera
