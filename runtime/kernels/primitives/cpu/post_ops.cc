#include "runtime/kernels/primitives/cpu/post_ops.h"

#include <cmath>
#include <limits>

namespace tessera {

Epilogue ClampEpilogue(const PostOps& post_ops, const float* bias) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Epilogue epilogue{.bias = bias, .add = post_ops.add, .low = -kInfinity, .high = kInfinity};
  if (post_ops.activation == Activation::kRelu || post_ops.activation == Activation::kRelu6) {
    epilogue.low = 0;
  }
  if (post_ops.activation == Activation::kRelu6) epilogue.high = 6;
  return epilogue;
}

double Apply(Activation activation, float alpha, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;  // NaN passes through
    case Activation::kRelu6:
      return x < 0 ? 0 : x > 6 ? 6 : x;
    case Activation::kElu:
      return x < 0 ? std::expm1(x) : x;
    case Activation::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kSwish:
      return x * (1 / (1 + std::exp(-x)));  // NaN for -infinity
    case Activation::kGeluErf:
      return 0.5 * x * std::erfc(-x * M_SQRT1_2);
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  }
  return x;
}

void ApplyPostOps(const PostOps& post_ops, const float* sums, const float* bias, int64_t count,
                  float* out) {
  for (int64_t j = 0; j < count; ++j) {
    float sum = sums[j];
    if (bias != nullptr) sum += bias[j];
    if (post_ops.add) sum += out[j];
    out[j] = post_ops.activation == Activation::kNone
                 ? sum
                 : static_cast<float>(Apply(post_ops.activation, post_ops.alpha, sum));
  }
}

}  // namespace tessera
