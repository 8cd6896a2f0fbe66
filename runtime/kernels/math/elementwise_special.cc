// Special functions. They compute in double, whatever the operands are.
#include <cmath>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/primitives/cpu/bessel_functions.h"
#include "runtime/kernels/primitives/cpu/gamma_functions.h"
#include "runtime/kernels/primitives/cpu/integral_functions.h"
#include "runtime/kernels/primitives/cpu/vector_math.h"

namespace tessera {
namespace {

#define REGISTER_SPECIAL(name)                                                             \
  REGISTER_UNARY(                                                                          \
      #name, kFloating, [](auto x) { return static_cast<decltype(x)>(special::name(x)); }, \
      Cost(60))
#define REGISTER_SPECIAL_BINARY(name) \
  REGISTER_BINARY(                    \
      #name, kFloating,               \
      [](auto x, auto y) { return static_cast<decltype(x)>(special::name(x, y)); }, Cost(300))

REGISTER_SPECIAL(Lgamma);
REGISTER_SPECIAL(Digamma);
REGISTER_SPECIAL(Erfinv);
REGISTER_SPECIAL(Ndtri);
REGISTER_SPECIAL(BesselI0e);
REGISTER_SPECIAL(BesselI1e);
REGISTER_SPECIAL(BesselK0);
REGISTER_SPECIAL(BesselK0e);
REGISTER_SPECIAL(BesselK1);
REGISTER_SPECIAL(BesselK1e);
REGISTER_SPECIAL(BesselJ0);
REGISTER_SPECIAL(BesselJ1);
REGISTER_SPECIAL(BesselY0);
REGISTER_SPECIAL(Dawsn);
REGISTER_SPECIAL(FresnelCos);
REGISTER_SPECIAL(FresnelSin);
REGISTER_SPECIAL(Spence);

// These become infinite, or NaN, where the operands' type does in TensorFlow's formulas.
REGISTER_UNARY(
    "BesselI0", kFloating,
    [](auto x) { return static_cast<decltype(x)>(special::BesselI0e(x)) * std::exp(std::abs(x)); },
    Cost(60));
REGISTER_UNARY(
    "BesselI1", kFloating,
    [](auto x) { return static_cast<decltype(x)>(special::BesselI1e(x)) * std::exp(std::abs(x)); },
    Cost(60));
REGISTER_UNARY(
    "BesselY1", kFloating,
    [](auto x) {
      using T = decltype(x);
      if (std::is_same_v<T, float> && x == 0) return T(math::kNaN);
      return static_cast<T>(special::BesselY1(x));
    },
    Cost(60));
REGISTER_UNARY(
    "Expint", kFloating,
    [](auto x) {
      using T = decltype(x);
      const bool overflows = x < T(math::kInf) && std::isinf(std::exp(x));
      return overflows ? T(math::kInf) : static_cast<T>(special::Expint(x));
    },
    Cost(60));

REGISTER_SPECIAL_BINARY(Polygamma);
REGISTER_SPECIAL_BINARY(Zeta);
REGISTER_SPECIAL_BINARY(Igamma);
REGISTER_SPECIAL_BINARY(Igammac);
REGISTER_SPECIAL_BINARY(IgammaGradA);
REGISTER_SPECIAL_BINARY(RandomGammaGrad);

REGISTER_TERNARY(
    "Betainc", kFloating,
    [](auto a, auto b, auto x) { return static_cast<decltype(x)>(special::Betainc(a, b, x)); },
    SameShapes(), Cost(300));

}  // namespace
}  // namespace tessera
