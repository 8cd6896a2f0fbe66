// Activations after products and normalisations.
#pragma once

#include <cmath>

#include "runtime/kernels/primitives/activation.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera::cuda {

// T is float or double. NaN passes through.
template <typename T>
TESSERA_DEVICE_FUNCTION T Activated(Activation activation, float alpha, T x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? T(0) : x;
    case Activation::kRelu6:
      return x < 0 ? T(0) : x > 6 ? T(6) : x;
    case Activation::kElu:
      return x < 0 ? math::Expm1OfNegative(x) : x;
    case Activation::kLeakyRelu:
      return x < 0 ? static_cast<T>(alpha) * x : x;
    case Activation::kTanh:
      return math::Tanh(x);
    case Activation::kSigmoid:
      return math::Sigmoid(x);
    case Activation::kSwish:
      return x * math::Sigmoid(x);
    case Activation::kGeluErf:
      return T(0.5) * x * math::Erfc(-x * T(0.7071067811865476));
    case Activation::kGeluTanh:
      return T(0.5) * x * (1 + math::Tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
  }
  return x;
}

}  // namespace tessera::cuda
