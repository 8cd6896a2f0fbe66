// Special functions. Most compute in double, whatever the operands are.
#pragma once

#include <cmath>
#include <type_traits>

#include "runtime/kernels/primitives/elementwise/declaration.h"
#include "runtime/kernels/primitives/math/bessel_functions.h"
#include "runtime/kernels/primitives/math/float_special_functions.h"
#include "runtime/kernels/primitives/math/gamma_functions.h"
#include "runtime/kernels/primitives/math/integral_functions.h"

namespace tessera::functors {

struct Lgamma {
  template <typename T>
  [[gnu::always_inline]] TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::Lgamma(x));
  }
};
struct Digamma {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::Digamma(x));
  }
};
struct Erfinv {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::Erfinv(x));
  }
};
struct Ndtri {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::Ndtri(x));
  }
};
struct BesselI0e {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselI0e(x));
  }
};
struct BesselI1e {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselI1e(x));
  }
};
struct BesselK0 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselK0(x));
  }
};
struct BesselK0e {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselK0e(x));
  }
};
struct BesselK1 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselK1(x));
  }
};
struct BesselK1e {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselK1e(x));
  }
};
struct BesselJ0 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselJ0(x));
  }
};
struct BesselJ1 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselJ1(x));
  }
};
struct BesselY0 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselY0(x));
  }
};
struct Dawsn {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::Dawsn(x));
  }
};
struct FresnelCos {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::FresnelCos(x));
  }
};
struct FresnelSin {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::FresnelSin(x));
  }
};
struct Spence {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::Spence(x));
  }
};

// These become infinite, or NaN, where the operands' type does in TensorFlow's formulas.
struct BesselI0 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselI0e(x)) * std::exp(std::abs(x));
  }
};
struct BesselI1 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return static_cast<T>(special::BesselI1e(x)) * std::exp(std::abs(x));
  }
};
struct BesselY1 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    if (std::is_same_v<T, float> && x == 0) return static_cast<T>(special::kNaN);
    return static_cast<T>(special::BesselY1(x));
  }
};
struct Expint {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    const bool overflows = x < static_cast<T>(special::kInf) && std::isinf(std::exp(x));
    return static_cast<T>(overflows ? special::kInf : special::Expint(x));
  }
};

struct Polygamma {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return static_cast<T>(special::Polygamma(x, y));
  }
};
struct Zeta {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return static_cast<T>(special::Zeta(x, y));
  }
};
struct Igamma {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return static_cast<T>(special::Igamma(x, y));
  }
};
struct Igammac {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return static_cast<T>(special::Igammac(x, y));
  }
};
struct IgammaGradA {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return static_cast<T>(special::IgammaGradA(x, y));
  }
};
struct RandomGammaGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    // TensorFlow gives 0 where the density, but for a factor of the sample, underflows.
    const double least = std::is_same_v<T, float> ? -88.72283905206835 : -709.782712893384;
    if (x > 0 && special::internal::LogTerm(x, y) + std::log(static_cast<double>(x)) < least) {
      return T(0);
    }
    return static_cast<T>(special::RandomGammaGrad(x, y));
  }
};
struct Betainc {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T a, T b, T x) const {
    return static_cast<T>(special::Betainc(a, b, x));
  }
};

inline constexpr std::tuple kSpecialOps{
    Unary<Lgamma, kFloating>("Lgamma").Cost(6),
    Unary<Digamma, kFloating>("Digamma").Cost(6),
    Unary<Erfinv, kFloating>("Erfinv").Cost(6),
    Unary<Ndtri, kFloating>("Ndtri").Cost(6),
    Unary<BesselI0e, kFloating>("BesselI0e").Cost(6),
    Unary<BesselI1e, kFloating>("BesselI1e").Cost(6),
    Unary<BesselK0, kFloating>("BesselK0").Cost(60),
    Unary<BesselK0e, kFloating>("BesselK0e").Cost(60),
    Unary<BesselK1, kFloating>("BesselK1").Cost(60),
    Unary<BesselK1e, kFloating>("BesselK1e").Cost(60),
    Unary<BesselJ0, kFloating>("BesselJ0").Cost(60),
    Unary<BesselJ1, kFloating>("BesselJ1").Cost(60),
    Unary<BesselY0, kFloating>("BesselY0").Cost(60),
    Unary<Dawsn, kFloating>("Dawsn").Cost(60),
    Unary<FresnelCos, kFloating>("FresnelCos").Cost(60),
    Unary<FresnelSin, kFloating>("FresnelSin").Cost(60),
    Unary<Spence, kFloating>("Spence").Cost(60),
    Unary<BesselI0, kFloating>("BesselI0").Cost(60),
    Unary<BesselI1, kFloating>("BesselI1").Cost(60),
    Unary<BesselY1, kFloating>("BesselY1").Cost(60),
    Unary<Expint, kFloating>("Expint").Cost(60),
    Binary<Polygamma, kFloating>("Polygamma").Cost(300),
    Binary<Zeta, kFloating>("Zeta").Cost(300),
    Binary<Igamma, kFloating>("Igamma").Cost(300),
    Binary<Igammac, kFloating>("Igammac").Cost(300),
    Binary<IgammaGradA, kFloating>("IgammaGradA").Cost(300),
    Binary<RandomGammaGrad, kFloating>("RandomGammaGrad").Cost(300),
    Ternary<Betainc, kFloating>("Betainc").SameShapes().Cost(300),
};

}  // namespace tessera::functors
