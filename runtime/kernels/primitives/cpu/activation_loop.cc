#include "runtime/kernels/primitives/cpu/activation_loop.h"

#define TESSERA_VECTOR_ABI avx512
#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera {
namespace {

struct Elu {
  float operator()(float, float x) const { return x < 0.0f ? math::Expm1(x) : x; }
};
struct LeakyRelu {
  float operator()(float alpha, float x) const { return x < 0.0f ? alpha * x : x; }
};
struct Tanh {
  float operator()(float, float x) const { return math::Tanh(x); }
};
struct Sigmoid {
  float operator()(float, float x) const { return math::Sigmoid(x); }
};
struct GeluErf {
  float operator()(float, float x) const { return math::Gelu(x); }
};
struct GeluTanh {
  float operator()(float, float x) const { return math::ApproximateGelu(x); }
};

template <typename F>
void Loop(float alpha, float* values, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) values[i] = F()(alpha, values[i]);
}

}  // namespace

ActivationLoop ActivationLoopOf(Activation activation) {
  switch (activation) {
    case Activation::kNone:
    case Activation::kRelu:
    case Activation::kRelu6:
      return nullptr;
    case Activation::kElu:
      return Loop<Elu>;
    case Activation::kLeakyRelu:
      return Loop<LeakyRelu>;
    case Activation::kTanh:
      return Loop<Tanh>;
    case Activation::kSigmoid:
      return Loop<Sigmoid>;
    case Activation::kGeluErf:
      return Loop<GeluErf>;
    case Activation::kGeluTanh:
      return Loop<GeluTanh>;
  }
  return nullptr;
}

}  // namespace tessera
