#include "runtime/kernels/primitives/post_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

struct NamedActivation {
  const char* name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {
    {"Relu", Activation::kRelu},
    {"Relu6", Activation::kRelu6},
    {"Elu", Activation::kElu},
    {"LeakyRelu", Activation::kLeakyRelu},
    {"Tanh", Activation::kTanh},
    {"Sigmoid", Activation::kSigmoid},
    {"Swish", Activation::kSwish},
    {"GeluExact", Activation::kGeluErf},
    {"GeluApproximate", Activation::kGeluTanh},
};

}  // namespace

absl::StatusOr<PostOps> PostOps::Parse(absl::Span<const std::string> fused_ops, float alpha) {
  PostOps result;
  result.alpha = alpha;
  for (const std::string& op : fused_ops) {
    const auto* activation = std::find_if(std::begin(kActivations), std::end(kActivations),
                                          [&](const NamedActivation& a) { return op == a.name; });
    const bool at_end = result.activation != Activation::kNone;
    if (op == "BiasAdd" && !result.bias && !result.add && !at_end) {
      result.bias = true;
    } else if ((op == "Add" || op == "AddN") && !result.add && !at_end) {
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

}  // namespace tessera
