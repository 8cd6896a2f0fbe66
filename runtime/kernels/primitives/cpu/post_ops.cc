#include "runtime/kernels/primitives/cpu/post_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

struct NamedActivation {
  const char* name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {
    {"Relu", Activation::kRelu},         {"Relu6", Activation::kRelu6},
    {"Elu", Activation::kElu},           {"LeakyRelu", Activation::kLeakyRelu},
    {"Tanh", Activation::kTanh},         {"Sigmoid", Activation::kSigmoid},
    {"GeluExact", Activation::kGeluErf}, {"GeluApproximate", Activation::kGeluTanh},
};

}  // namespace

absl::StatusOr<PostOps> PostOps::Parse(const std::vector<std::string>& fused_ops, float alpha) {
  PostOps result;
  result.alpha = alpha;
  for (const std::string& op : fused_ops) {
    const auto* activation = std::find_if(std::begin(kActivations), std::end(kActivations),
                                          [&](const NamedActivation& a) { return op == a.name; });
    const bool at_end = result.activation != Activation::kNone;
    if (op == "BiasAdd" && !result.bias && !result.add && !at_end) {
      result.bias = true;
    } else if (op == "Add" && !result.add && !at_end) {
      result.add = true;
    } else if (activation != std::end(kActivations) && !at_end) {
      result.activation = activation->activation;
    } else {
      return absl::UnimplementedError(
          absl::StrCat("fused_ops [", absl::StrJoin(fused_ops, ", "),
                       "] is not supported: it must be BiasAdd, then Add, then an activation, each "
                       "of them optional"));
    }
  }
  return result;
}

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
