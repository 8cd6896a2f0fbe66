// Arithmetic of one operand: signs, roots, roundings, parts of complex numbers, tests.
#pragma once

#include <cmath>
#include <type_traits>

#include "runtime/kernels/primitives/elementwise/declaration.h"

namespace tessera::functors {

struct Negate {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return -x;
  }
};
struct Absolute {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return x < 0 ? -x : x;
    } else {
      return std::abs(x);
    }
  }
};
struct Sign {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return x > 0 ? T{1} : (x < 0 ? T{-1} : x);  // zeros and NaN as they are
    } else {
      return x > 0 ? T{1} : (x < 0 ? T{-1} : T{0});
    }
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION Complex<T> operator()(Complex<T> x) const {
    return x == T{0} ? x : x / device_std::abs(x);
  }
};
struct Square {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return x * x;
  }
};
struct Sqrt {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::sqrt(x);
  }
};
struct Rsqrt {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return T{1} / device_std::sqrt(x);
  }
};

// Conj(x) / |x|^2, scaled so that the square stays in range. Both parts of 1 / 0 are NaN.
struct Reciprocal {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return T{1} / x;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION Complex<T> operator()(Complex<T> x) const {
    const T a = std::abs(x.real()), b = std::abs(x.imag());
    const T scale = a < b ? b : a;
    const Complex<T> y = x / scale;
    return device_std::conj(y) / (device_std::norm(y) * scale);
  }
};

struct Floor {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return std::floor(x);
  }
};
struct Ceil {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return std::ceil(x);
  }
};
// Halves go to the even neighbour.
struct Rint {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return std::rint(x);
  }
};
// Integers become 0: that is TensorFlow's answer.
struct Round {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return 0;
    } else {
      return std::rint(x);
    }
  }
};

struct Conjugate {
  template <typename T>
  TESSERA_DEVICE_FUNCTION Complex<T> operator()(Complex<T> x) const {
    return {x.real(), -x.imag()};
  }
};
struct Real {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(Complex<T> x) const {
    return x.real();
  }
};
struct Imaginary {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(Complex<T> x) const {
    return x.imag();
  }
};
struct Angle {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(Complex<T> x) const {
    return device_std::arg(x);
  }
};
struct ComplexAbs {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(Complex<T> x) const {
    return device_std::abs(x);
  }
};

struct IsNan {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T x) const {
    return std::abs(x) == T(INFINITY);
  }
};
struct IsFinite {
  template <typename T>
  TESSERA_DEVICE_FUNCTION bool operator()(T x) const {
    return std::abs(x) < T(INFINITY);
  }
};
struct LogicalNot {
  TESSERA_DEVICE_FUNCTION bool operator()(bool x) const { return !x; }
};

inline constexpr DTypeSet kSignedNumeric = kSigned | kFloating | kComplex;

inline constexpr std::tuple kUnaryOps{
    Unary<Negate, kSignedNumeric>("Neg"),
    Unary<Absolute, kSigned | kFloating>("Abs"),
    Unary<Sign, kSignedNumeric>("Sign"),
    Unary<Square, kNumeric>("Square"),
    Unary<Sqrt, kFloating | kComplex>("Sqrt"),
    Unary<Rsqrt, kFloating | kComplex>("Rsqrt"),
    Unary<Reciprocal, kFloating | kComplex>("Reciprocal"),
    Unary<Reciprocal, kFloating | kComplex>("Inv"),
    Unary<Floor, kFloating>("Floor"),
    Unary<Ceil, kFloating>("Ceil"),
    Unary<Rint, kFloating>("Rint"),
    Unary<Round, kFloating | kSigned>("Round"),
    Unary<Conjugate, kComplex>("Conj"),
    Unary<Real, kComplex>("Real"),
    Unary<Imaginary, kComplex>("Imag"),
    Unary<Angle, kComplex>("Angle").Cost(20),
    Unary<ComplexAbs, kComplex>("ComplexAbs").Cost(4),
    Unary<IsNan, kFloating>("IsNan"),
    Unary<IsInf, kFloating>("IsInf"),
    Unary<IsFinite, kFloating>("IsFinite"),
    Unary<LogicalNot, kBool>("LogicalNot"),
};

}  // namespace tessera::functors
