// Activation functions of neural networks, and the gradients that training graphs call by name.
// NaN passes through all of them: a comparison with it is false.
#pragma once

#include <cmath>
#include <type_traits>

#include "runtime/kernels/primitives/elementwise/declaration.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera::functors {

struct Relu {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return x < 0 ? T{0} : x;
  }
};
struct Relu6 {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    // NaN and -0 stay what they are. Compilers know the maximum and the minimum of a vector by this
    // order of the operands.
    const T positive = T{0} > x ? T{0} : x;
    return T{6} < positive ? T{6} : positive;
  }
};
struct Elu {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return x < 0 ? math::Expm1OfNegative(x) : x;
  }
};

// Klambauer et al., Self-Normalizing Neural Networks, 2017.
inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;
struct Selu {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return x < 0 ? T(kSeluScaleAlpha) * math::Expm1OfNegative(x) : T(kSeluScale) * x;
  }
};

struct Softplus {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Softplus(x);
  }
};
struct Softsign {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return x / (T{1} + std::abs(x));
  }
};
struct LeakyRelu {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T alpha) const {
    return x > 0 ? x : x * alpha;
  }
};
// The GELU by erf; ApproximateGelu is the one by tanh.
struct Gelu {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::Gelu(x);
  }
};
struct ApproximateGelu {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return math::ApproximateGelu(x);
  }
};

// Gradients of (gradient, features) or (gradient, activations). They multiply by 0 where nothing
// flows, so that a gradient of NaN stays visible.
struct ReluGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T g, T x) const {
    return g * (x > 0 ? T{1} : T{0});
  }
};
struct Relu6Grad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T g, T x) const {
    return g * (x > 0 && x < 6 ? T{1} : T{0});
  }
};
struct LeakyReluGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T g, T x, T alpha) const {
    return x > 0 ? g : g * alpha;
  }
};
struct EluGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T g, T y) const {
    return y < 0 ? g * (y + 1) : g;
  }
};
struct SeluGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T g, T y) const {
    return g * (y < 0 ? y + T(kSeluScaleAlpha) : T(kSeluScale));
  }
};
struct SoftplusGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T g, T x) const {
    return g * math::Sigmoid(x);
  }
};
struct SoftsignGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T g, T x) const {
    const T d = T{1} + std::abs(x);
    return g / (d * d);
  }
};

// Gradients of complex roots and reciprocals take the conjugate of the result.
template <typename T>
TESSERA_DEVICE_FUNCTION T ConjugateOf(T y) {
  return y;
}
template <typename T>
TESSERA_DEVICE_FUNCTION Complex<T> ConjugateOf(Complex<T> y) {
  return device_std::conj(y);
}

// Gradients of (result, gradient).
struct TanhGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T y, T g) const {
    return g * (T{1} - y * y);
  }
};
struct SigmoidGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T y, T g) const {
    return g * y * (T{1} - y);
  }
};
// In the next three a gradient of zero stays zero whatever the result is, as in TensorFlow.
struct SqrtGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T y, T g) const {
    return g == T(0.0f) ? T(0.0f) : T(0.5f) * g / ConjugateOf(y);
  }
};
struct RsqrtGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T y, T g) const {
    if (g == T(0.0f)) return T(0.0f);
    return T(-0.5f) * g * (ConjugateOf(y) * ConjugateOf(y)) * ConjugateOf(y);
  }
};
struct ReciprocalGrad {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T y, T g) const {
    // The square first, as TensorFlow does: it decides the last bit, and what becomes of
    // infinities.
    return g == T(0.0f) ? T(0.0f) : -g * (ConjugateOf(y) * ConjugateOf(y));
  }
};

inline constexpr DTypeSet kDifferentiable = kFloating | kComplex;

inline constexpr std::tuple kActivationOps{
    Unary<Relu, kReal>("Relu"),
    Unary<Relu6, kReal>("Relu6"),
    Unary<Elu, kFloating>("Elu").Cost(1),
    Unary<Selu, kFloating>("Selu").Cost(1),
    Unary<Softplus, kFloating>("Softplus").Cost(2),
    Unary<Softsign, kFloating>("Softsign"),
    UnaryWithAttr<LeakyRelu, kFloating>("LeakyRelu", "alpha"),
    Binary<ReluGrad, kReal>("ReluGrad").SameShapes(),
    Binary<Relu6Grad, kReal>("Relu6Grad").SameShapes(),
    BinaryWithAttr<LeakyReluGrad, kFloating>("LeakyReluGrad", "alpha").SameShapes(),
    Binary<EluGrad, kFloating>("EluGrad").SameShapes(),
    Binary<SeluGrad, kFloating>("SeluGrad").SameShapes(),
    Binary<SoftplusGrad, kFloating>("SoftplusGrad").SameShapes().Cost(1),
    Binary<SoftsignGrad, kFloating>("SoftsignGrad").SameShapes(),
    Binary<TanhGrad, kDifferentiable>("TanhGrad").SameSizes(),
    Binary<SigmoidGrad, kDifferentiable>("SigmoidGrad").SameSizes(),
    Binary<SqrtGrad, kDifferentiable>("SqrtGrad").SameSizes(),
    Binary<RsqrtGrad, kDifferentiable>("RsqrtGrad").SameSizes(),
    Binary<ReciprocalGrad, kDifferentiable>("InvGrad").SameSizes(),
    Binary<ReciprocalGrad, kDifferentiable>("ReciprocalGrad").SameSizes(),
};

// Functions that are not ops by themselves: `_Gelu` chooses between them.
inline constexpr std::tuple kGeluFunctions{
    Unary<Gelu, DTypes(DType::kFloat)>("Gelu").Cost(2),
    Unary<ApproximateGelu, DTypes(DType::kFloat)>("ApproximateGelu").Cost(2),
};

}  // namespace tessera::functors
