// The activations that products take in.
#pragma once

namespace tessera {

enum class Activation {
  kNone,
  kRelu,
  kRelu6,
  kElu,
  kLeakyRelu,  // alpha
  kTanh,
  kSigmoid,
  kGeluErf,
  kGeluTanh,
};

// True for those that bound their argument, and do nothing else.
inline bool IsClamp(Activation activation) {
  return activation == Activation::kNone || activation == Activation::kRelu ||
         activation == Activation::kRelu6;
}

}  // namespace tessera
