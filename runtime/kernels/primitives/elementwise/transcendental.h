// Exponentials, logarithms, trigonometric and hyperbolic functions.
#pragma once

#include <cmath>
#include <type_traits>

#include "runtime/kernels/primitives/elementwise/declaration.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#include "runtime/kernels/primitives/math/float_special_functions.h"
#include "runtime/kernels/primitives/math/vector_functions.h"

namespace tessera::functors {

struct Exp {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Exp(x);
  }
};
struct Expm1 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Expm1(x);
  }
};
struct Log {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Log(x);
  }
};
struct Log1p {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Log1p(x);
  }
};
struct Tanh {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Tanh(x);
  }
};
struct Sigmoid {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Sigmoid(x);
  }
};
struct Erf {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Erf(x);
  }
};
struct Erfc {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Erfc(x);
  }
};

struct Sin {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::sin(x);
  }
};
struct Cos {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::cos(x);
  }
};
struct Tan {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::tan(x);
  }
};
struct Asin {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>) {
      return special::Asin(x);
    } else {
      return device_std::asin(x);
    }
  }
};
struct Acos {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>) {
      return special::Acos(x);
    } else {
      return device_std::acos(x);
    }
  }
};
struct Atan {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::atan(x);
  }
};
struct Sinh {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::sinh(x);
  }
};
struct Cosh {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::cosh(x);
  }
};
struct Asinh {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::asinh(x);
  }
};
struct Acosh {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::acosh(x);
  }
};
struct Atanh {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return device_std::atanh(x);
  }
};
struct Atan2 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T y, T x) const {
    return std::atan2(y, x);
  }
};

// Functions of float take about a nanosecond an element.
inline constexpr std::tuple kTranscendentalOps{
    Unary<Exp, kFloating | kComplex>("Exp").Cost(0.8),
    Unary<Expm1, kFloating | kComplex>("Expm1").Cost(1),
    Unary<Log, kFloating | kComplex>("Log").Cost(0.8),
    Unary<Log1p, kFloating | kComplex>("Log1p").Cost(1),
    Unary<Tanh, kFloating | kComplex>("Tanh").Cost(1),
    Unary<Sigmoid, kFloating | kComplex>("Sigmoid").Cost(1),
    Unary<Erf, kFloating>("Erf").Cost(2),
    Unary<Erfc, kFloating>("Erfc").Cost(2),
    Unary<Sin, kFloating | kComplex>("Sin").Cost(1.5),
    Unary<Cos, kFloating | kComplex>("Cos").Cost(1.5),
    Unary<Tan, kFloating | kComplex>("Tan").Cost(3),
    Unary<Asin, kFloating | kComplex>("Asin").Cost(2),
    Unary<Acos, kFloating | kComplex>("Acos").Cost(2),
    Unary<Atan, kFloating | kComplex>("Atan").Cost(2),
    Unary<Sinh, kFloating | kComplex>("Sinh").Cost(2),
    Unary<Cosh, kFloating | kComplex>("Cosh").Cost(2),
    Unary<Asinh, kFloating | kComplex>("Asinh").Cost(3),
    Unary<Acosh, kFloating | kComplex>("Acosh").Cost(3),
    Unary<Atanh, kFloating | kComplex>("Atanh").Cost(3),
    Binary<Atan2, kFloating>("Atan2").Cost(3),
};

}  // namespace tessera::functors
