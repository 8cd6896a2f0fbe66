#include "runtime/optimize/fused_activation.h"

#include <algorithm>
#include <iterator>

#include "runtime/optimize/factors.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// True if `node` is the product of x and the constant 1.
bool IsTimesOne(const Node& node, const Node& x) {
  if (!node.IsOp("Mul")) return false;
  for (int side : {0, 1}) {
    if (node.input(side).node == &x && ScalarConstant(node.input(1 - side)) == 1) return true;
  }
  return false;
}

}  // namespace

std::string FusedActivation(const Node& node) {
  if (node.IsOp("_Gelu")) {
    const auto approximate = node.attr<bool>("approximate");
    return approximate.ok() && *approximate ? "GeluApproximate" : "GeluExact";
  }
  static constexpr absl::string_view kSameName[] = {"Relu",      "Relu6", "Elu",
                                                    "LeakyRelu", "Tanh",  "Sigmoid"};
  return std::find(std::begin(kSameName), std::end(kSameName), node.op_name()) !=
                 std::end(kSameName)
             ? node.op_name()
             : "";
}

std::optional<Swish> SwishOf(const Node& x) {
  if (x.output_type(0) != DType::kFloat) return std::nullopt;
  for (const Use& use : x.uses(0)) {
    if (!use.node->IsOp("Mul")) continue;
    Node* const sigmoid = use.node->input(1 - use.index).node;
    if (sigmoid == nullptr || !sigmoid->IsOp("Sigmoid") || !HasOneUse(*sigmoid)) continue;
    Swish swish{.product = use.node, .gate = {sigmoid}};
    Node* const argument = sigmoid->input(0).node;
    if (argument != &x) {
      if (argument == nullptr || !HasOneUse(*argument) || !IsTimesOne(*argument, x)) continue;
      swish.gate.insert(swish.gate.begin(), argument);
    }
    if (!HasOtherUsers(x, {swish.product, swish.gate.front()})) return swish;
  }
  return std::nullopt;
}

void SetActivationAttrs(const Node& activation, AttrMap* attrs) {
  if (auto alpha = activation.attr<float>("alpha"); alpha.ok()) {
    attrs->insert_or_assign("leakyrelu_alpha", *alpha);
  }
}

}  // namespace tessera
