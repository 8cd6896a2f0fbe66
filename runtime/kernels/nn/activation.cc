// Activation functions of neural networks, and the gradients that training graphs call by name.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/primitives/cpu/vector_math.h"

namespace tessera {
namespace {

// NaN passes through all of these: a comparison with it is false.

struct Relu {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? T{0} : x;
  }
};
struct Relu6 {
  template <typename T>
  T operator()(T x) const {
    const T positive = x < 0 ? T{0} : x;
    return positive > 6 ? T{6} : positive;
  }
};
struct Elu {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? math::Expm1(x) : x;
  }
};

// Klambauer et al., Self-Normalizing Neural Networks, 2017.
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;
struct Selu {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? T(kSeluScaleAlpha) * math::Expm1(x) : T(kSeluScale) * x;
  }
};

constexpr DTypeSet kDifferentiable = kFloating | kComplex;

// Gradients of the complex roots and reciprocals take the conjugate of the result.
template <typename T>
T Conj(T y) {
  return y;
}
template <typename T>
std::complex<T> Conj(std::complex<T> y) {
  return std::conj(y);
}

REGISTER_UNARY("Relu", kReal, Relu{});
REGISTER_UNARY("Relu6", kReal, Relu6{});
REGISTER_UNARY("Elu", kFloating, Elu{}, Cost(1));
REGISTER_UNARY("Selu", kFloating, Selu{}, Cost(1));
REGISTER_UNARY(
    "Softplus", kFloating, [](auto x) { return math::Softplus(x); }, Cost(2));
REGISTER_UNARY("Softsign", kFloating, [](auto x) { return x / (decltype(x){1} + std::abs(x)); });
REGISTER_UNARY_WITH_ATTR("LeakyRelu", "alpha", kFloating,
                         [](auto x, auto alpha) { return x > 0 ? x : x * alpha; });

// Of (gradient, features) or (gradient, activations).
// They multiply by 0 where nothing flows, so that a gradient of NaN stays visible.
REGISTER_BINARY(
    "ReluGrad", kReal, [](auto g, auto x) { return g * (x > 0 ? decltype(g){1} : decltype(g){0}); },
    SameShapes());
REGISTER_BINARY(
    "Relu6Grad", kReal,
    [](auto g, auto x) { return g * (x > 0 && x < 6 ? decltype(g){1} : decltype(g){0}); },
    SameShapes());
REGISTER_BINARY_WITH_ATTR(
    "LeakyReluGrad", "alpha", kFloating,
    [](auto g, auto x, auto alpha) { return x > 0 ? g : g * alpha; }, SameShapes());
REGISTER_BINARY(
    "EluGrad", kFloating, [](auto g, auto y) { return y < 0 ? g * (y + 1) : g; }, SameShapes());
REGISTER_BINARY(
    "SeluGrad", kFloating,
    [](auto g, auto y) {
      using T = decltype(y);
      return g * (y < 0 ? y + T(kSeluScaleAlpha) : T(kSeluScale));
    },
    SameShapes());
REGISTER_BINARY(
    "SoftplusGrad", kFloating, [](auto g, auto x) { return g * math::Sigmoid(x); }, SameShapes(),
    Cost(1));
REGISTER_BINARY(
    "SoftsignGrad", kFloating,
    [](auto g, auto x) {
      const auto d = decltype(x){1} + std::abs(x);
      return g / (d * d);
    },
    SameShapes());

// Of (result, gradient).
REGISTER_BINARY("TanhGrad", kDifferentiable,
                [](auto y, auto g) { return g * (decltype(y){1} - y * y); });
REGISTER_BINARY("SigmoidGrad", kDifferentiable,
                [](auto y, auto g) { return g * y * (decltype(y){1} - y); });
REGISTER_BINARY("SqrtGrad", kDifferentiable,
                [](auto y, auto g) { return decltype(y)(0.5f) * g / Conj(y); });
REGISTER_BINARY("RsqrtGrad", kDifferentiable, [](auto y, auto g) {
  return decltype(y)(-0.5f) * g * (Conj(y) * Conj(y)) * Conj(y);
});
REGISTER_BINARY("InvGrad", kDifferentiable, [](auto y, auto g) { return -g * Conj(y) * Conj(y); });
REGISTER_BINARY("ReciprocalGrad", kDifferentiable,
                [](auto y, auto g) { return -g * Conj(y) * Conj(y); });

}  // namespace
}  // namespace tessera
