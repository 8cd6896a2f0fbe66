// Activations that can be fused into a product.
#pragma once

namespace tessera {

enum class Activation {
  kNone,
  kRelu,
  kRelu6,
  kElu,
  kLeakyRelu,  // uses alpha
  kTanh,
  kSigmoid,
  kSwish,  // x * sigmoid(x)
  kGeluErf,
  kGeluTanh,
};

// True for activations that only clamp their argument.
inline bool IsClamp(Activation activation) {
  return activation == Activation::kNone || activation == Activation::kRelu ||
         activation == Activation::kRelu6;
}

}  // namespace tessera
