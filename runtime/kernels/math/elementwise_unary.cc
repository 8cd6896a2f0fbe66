// Arithmetic of one operand: signs, roots, roundings, parts of complex numbers, tests.
#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/kernels/elementwise.h"

namespace tessera {
namespace {

constexpr DTypeSet kSignedNumeric = kSigned | kFloating | kComplex;

struct Sign {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return x > 0 ? T{1} : (x < 0 ? T{-1} : x);  // zeros and NaN as they are
    } else {
      return x > 0 ? T{1} : (x < 0 ? T{-1} : T{0});
    }
  }
  template <typename T>
  std::complex<T> operator()(std::complex<T> x) const {
    return x == T{0} ? x : x / std::abs(x);
  }
};

struct Conj {
  template <typename T>
  std::complex<T> operator()(std::complex<T> x) const {
    return {x.real(), -x.imag()};
  }
};

// Conj(x) / |x|^2, scaled so that the square stays in range. Both parts of 1 / 0 are NaN.
struct Reciprocal {
  template <typename T>
  T operator()(T x) const {
    return T{1} / x;
  }
  template <typename T>
  std::complex<T> operator()(std::complex<T> x) const {
    const T scale = std::max(std::abs(x.real()), std::abs(x.imag()));
    const std::complex<T> y = x / scale;
    return std::conj(y) / (std::norm(y) * scale);
  }
};

// Halves go to the even neighbour. Integers become 0: that is TensorFlow's answer.
struct Round {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) return 0;
    return std::rint(x);
  }
};

struct PopulationCount {
  using Result = uint8_t;
  template <typename T>
  uint8_t operator()(T x) const {
    return static_cast<uint8_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
  }
};

REGISTER_UNARY("Neg", kSignedNumeric, [](auto x) { return -x; });
REGISTER_UNARY("Abs", kSigned | kFloating, [](auto x) { return std::abs(x); });
REGISTER_UNARY("Sign", kSignedNumeric, Sign{});
REGISTER_UNARY("Square", kNumeric, [](auto x) { return x * x; });
REGISTER_UNARY("Sqrt", kFloating | kComplex, [](auto x) { return std::sqrt(x); });
REGISTER_UNARY("Rsqrt", kFloating | kComplex, [](auto x) { return decltype(x){1} / std::sqrt(x); });
REGISTER_UNARY("Reciprocal", kFloating | kComplex, Reciprocal{});
REGISTER_UNARY("Inv", kFloating | kComplex, Reciprocal{});

REGISTER_UNARY("Floor", kFloating, [](auto x) { return std::floor(x); });
REGISTER_UNARY("Ceil", kFloating, [](auto x) { return std::ceil(x); });
REGISTER_UNARY("Rint", kFloating, [](auto x) { return std::rint(x); });
REGISTER_UNARY("Round", kFloating | kSigned, Round{});

REGISTER_UNARY("Conj", kComplex, Conj{});
REGISTER_UNARY("Real", kComplex, [](auto x) { return x.real(); });
REGISTER_UNARY("Imag", kComplex, [](auto x) { return x.imag(); });
REGISTER_UNARY(
    "Angle", kComplex, [](auto x) { return std::arg(x); }, Cost(20));
REGISTER_UNARY(
    "ComplexAbs", kComplex, [](auto x) { return std::abs(x); }, Cost(4));

REGISTER_UNARY("IsNan", kFloating, [](auto x) { return x != x; });
REGISTER_UNARY("IsInf", kFloating, [](auto x) { return std::abs(x) == decltype(x)(INFINITY); });
REGISTER_UNARY("IsFinite", kFloating, [](auto x) { return std::abs(x) < decltype(x)(INFINITY); });
REGISTER_UNARY("LogicalNot", kBool, [](bool x) { return !x; });
REGISTER_UNARY("Invert", kInteger, [](auto x) { return ~x; });
REGISTER_UNARY("PopulationCount", kInteger, PopulationCount{});

}  // namespace
}  // namespace tessera
