#include "runtime/optimize/fused_activation.h"

#include <algorithm>
#include <iterator>

namespace tessera {

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

void SetActivationAttrs(const Node& activation, AttrMap* attrs) {
  if (auto alpha = activation.attr<float>("alpha"); alpha.ok()) {
    attrs->insert_or_assign("leakyrelu_alpha", *alpha);
  }
}

}  // namespace tessera
