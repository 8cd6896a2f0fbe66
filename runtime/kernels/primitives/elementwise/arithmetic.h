// Arithmetic of two operands, and clipping between two.
#pragma once

#include <cmath>
#include <type_traits>

#include "absl/status/status.h"
#include "runtime/kernels/primitives/elementwise/declaration.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera::functors {

struct Add {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(const T& x, const T& y) const {
    return x + y;
  }
};
struct Subtract {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return x - y;
  }
};
struct Multiply {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return x * y;
  }
};

// Division of integers traps for a divisor of -1 and the least dividend, whose quotient wraps
// around to itself; a zero divisor is an error before it gets here.
template <typename T>
TESSERA_DEVICE_FUNCTION constexpr bool IsMinusOne(T y) {
  if constexpr (std::is_signed_v<T>) return y == T{-1};
  return false;
}

// The quotient of integers of at most 32 bits, which vectors of doubles can divide: no rounding
// takes it to the other side of an integer. It is 0 for a divisor of -1, as T need not hold the
// quotient.
template <typename T>
TESSERA_DEVICE_FUNCTION double ShortQuotient(T x, T y) {
  const double dividend = IsMinusOne(y) ? 0.0 : static_cast<double>(x);
  return dividend / static_cast<double>(y);
}

// Towards zero.
struct TruncateDiv {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) {
      const T quotient = static_cast<T>(ShortQuotient(x, y));
      return IsMinusOne(y) ? static_cast<T>(-x) : quotient;
    } else if constexpr (std::is_integral_v<T>) {
      return IsMinusOne(y) ? -x : x / y;
    } else {
      return std::trunc(x / y);
    }
  }
};

// Divides integers as C++ does, and floating point numbers as the hardware does.
struct Divide {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) return TruncateDiv{}(x, y);
    return x / y;
  }
};

// Towards minus infinity.
struct FloorDiv {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(x / y);
    } else if constexpr (std::is_unsigned_v<T>) {
      return TruncateDiv{}(x, y);
    } else if constexpr (sizeof(T) <= 4) {
      const T quotient = static_cast<T>(std::floor(ShortQuotient(x, y)));
      return IsMinusOne(y) ? static_cast<T>(-x) : quotient;
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
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, float>) {
      // Exact in double, unless the quotient is very large.
      const double quotient = std::trunc(static_cast<double>(x) / static_cast<double>(y));
      if (std::abs(quotient) < 0x1p29 && std::abs(y) < math::kInf) {
        double remainder = static_cast<double>(x) - quotient * static_cast<double>(y);
        // The quotient has been rounded up to an integer if the sign is not the dividend's.
        if (remainder != 0 && (remainder < 0) != (x < 0)) {
          remainder += std::copysign(static_cast<double>(y), static_cast<double>(x));
        }
        return std::copysign(static_cast<float>(remainder), x);
      }
      return std::fmod(x, y);
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(x, y);
    } else {
      return IsMinusOne(y) ? T{0} : x % y;
    }
  }
};

// The remainder of a floored quotient, with the divisor's sign.
struct FloorMod {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    const T remainder = TruncateMod{}(x, y);
    return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
  }
};

struct Power {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    if constexpr (!std::is_integral_v<T>) {
      return device_std::pow(x, y);
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
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return (x - y) * (x - y);
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION Complex<T> operator()(Complex<T> x, Complex<T> y) const {
    return device_std::norm(x - y);
  }
};

// A NaN on either side wins.
struct Maximum {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    const T chosen = x > y ? x : y;  // y if that is NaN
    if constexpr (std::is_floating_point_v<T>) return x != x ? x : chosen;
    return chosen;
  }
};
struct Minimum {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    const T chosen = x < y ? x : y;  // y if that is NaN
    if constexpr (std::is_floating_point_v<T>) return x != x ? x : chosen;
    return chosen;
  }
};

struct NextAfter {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return std::nextafter(x, y);
  }
};

template <typename T>
TESSERA_DEVICE_FUNCTION T ZeroIf(bool condition, T value) {
  return condition ? T{0} : value;
}

// A zero `y` gives 0, whatever `x` is.
struct MultiplyNoNan {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return ZeroIf(y == T{0}, x * y);
  }
};
struct DivideNoNan {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return ZeroIf(y == T{0}, x / y);
  }
};
// A zero `x` gives 0, whatever `y` is.
struct Xdivy {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return ZeroIf(x == T{0}, x / y);
  }
};
struct Xlogy {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return ZeroIf(x == T{0}, x * math::Log(y));
  }
};
struct Xlog1py {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return ZeroIf(x == T{0}, x * math::Log1p(y));
  }
};

// Parts of complex numbers are clipped each by itself. NaN stays. Should the bounds be the wrong
// way round, the lower one wins.
struct Clip {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T low, T high) const {
    const T lowered = x > high ? high : x;
    return lowered < low ? low : lowered;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION Complex<T> operator()(Complex<T> x, Complex<T> low,
                                                Complex<T> high) const {
    return {(*this)(x.real(), low.real(), high.real()), (*this)(x.imag(), low.imag(), high.imag())};
  }
};

struct MakeComplex {
  template <typename T>
  TESSERA_DEVICE_FUNCTION Complex<T> operator()(T real, T imaginary) const {
    return {real, imaginary};
  }
};

// Checks of the last operand, for integers.
struct DivisorIsZero {
  static constexpr absl::StatusCode kCode = absl::StatusCode::kInvalidArgument;
  static constexpr char kMessage[] = "division of an integer by zero";
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T divisor) const {
    return divisor == T{0};
  }
};
// TensorFlow's code for the truncating ops.
struct DivisorIsZeroInternal : DivisorIsZero {
  static constexpr absl::StatusCode kCode = absl::StatusCode::kInternal;
};
struct ExponentIsNegative {
  static constexpr absl::StatusCode kCode = absl::StatusCode::kInvalidArgument;
  static constexpr char kMessage[] =
      "an integer cannot be raised to a negative power: cast the operands to float";
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T exponent) const {
    return exponent < T{0};
  }
};

inline constexpr DTypeSet kDividing = kFloating | kComplex;

inline constexpr std::tuple kArithmeticOps{
    Binary<Add, kNumeric>("AddV2"),
    Binary<Add, kNumeric | kString>("Add"),
    Binary<Subtract, kNumeric>("Sub"),
    Binary<Multiply, kNumeric>("Mul"),
    Binary<MultiplyNoNan, kDividing>("MulNoNan"),
    Binary<Divide, kNumeric>("Div").FailsIf<DivisorIsZero>(),
    Binary<Divide, kDividing>("RealDiv"),
    Binary<DivideNoNan, kDividing>("DivNoNan"),
    Binary<TruncateDiv, kReal>("TruncateDiv").FailsIf<DivisorIsZeroInternal>(),
    Binary<FloorDiv, kReal>("FloorDiv").FailsIf<DivisorIsZero>().Cost(1),
    Binary<FloorMod, kReal>("FloorMod").FailsIf<DivisorIsZero>().Cost(5),
    Binary<TruncateMod, kReal>("Mod").FailsIf<DivisorIsZero>().Cost(5),
    Binary<TruncateMod, kReal>("TruncateMod").FailsIf<DivisorIsZeroInternal>().Cost(5),
    Binary<SquaredDifference, kNumeric>("SquaredDifference"),
    Binary<Maximum, kReal>("Maximum"),
    Binary<Minimum, kReal>("Minimum"),
    Binary<Power, kSigned | kFloating | kComplex>("Pow").FailsIf<ExponentIsNegative>().Cost(6),
    Binary<NextAfter, kFloating & ~kNarrowFloat>("NextAfter").Cost(5),
    Binary<Xdivy, kDividing>("Xdivy"),
    Binary<Xlogy, kDividing>("Xlogy").Cost(1),
    Binary<Xlog1py, kDividing>("Xlog1py").Cost(1),
    Binary<MakeComplex, kFloating & ~kNarrowFloat>("Complex"),
    Ternary<Clip, kNumeric>("ClipByValue").SameShapes(),
};

}  // namespace tessera::functors
