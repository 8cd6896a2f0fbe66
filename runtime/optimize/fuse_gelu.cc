#include "runtime/optimize/fuse_gelu.h"

#include <cmath>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/optimize/factors.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// True if `value` is scale * x.
bool IsScaled(const Endpoint& value, const Endpoint& x, double scale) {
  const Factors product = FactorsOf(value);
  return product.factors.size() == 1 && product.factors[0] == x && IsNear(product.scale, scale);
}

// True if `value` is 0.044715 * x^3.
bool IsScaledCube(const Endpoint& value, const Endpoint& x) {
  const Factors product = FactorsOf(value);
  if (!IsNear(product.scale, 0.044715)) return false;
  if (product.factors.size() == 3) {
    return product.factors[0] == x && product.factors[1] == x && product.factors[2] == x;
  }
  if (product.factors.size() != 1) return false;
  const Node* power = product.factors[0].node;
  const auto exponent = power->IsOp("Pow") ? ScalarConstant(power->input(1)) : std::nullopt;
  return exponent.has_value() && *exponent == 3 && power->input(0) == x;
}

// True if `value` is sqrt(2 / pi) * (x + 0.044715 * x^3).
bool IsTanhArgument(const Endpoint& value, const Endpoint& x) {
  const Factors product = FactorsOf(value);
  if (product.factors.size() != 1 || !IsNear(product.scale, std::sqrt(M_2_PI))) return false;
  const Node* sum = product.factors[0].node;
  if (!sum->IsOp("Add") && !sum->IsOp("AddV2")) return false;
  return (sum->input(0) == x && IsScaledCube(sum->input(1), x)) ||
         (sum->input(1) == x && IsScaledCube(sum->input(0), x));
}

// How `gate` makes 0.5 * x * gate a GELU of x: approximately or not; nullopt if it does not.
std::optional<bool> GateOf(const Endpoint& gate, const Endpoint& x) {
  if (gate.node->IsOp("Erfc")) {
    if (IsScaled(gate.node->input(0), x, -M_SQRT1_2)) return false;
    return std::nullopt;
  }
  double constant = 0;
  const auto function = PlusConstant(gate, &constant);
  if (!function.has_value() || constant != 1) return std::nullopt;
  const Node* node = function->node;
  if (node->IsOp("Erf") && IsScaled(node->input(0), x, M_SQRT1_2)) return false;
  if (node->IsOp("Tanh") && IsTanhArgument(node->input(0), x)) return true;
  return std::nullopt;
}

}  // namespace

absl::Status FuseGeluPass::Run(OptimizationItem& item, bool* changed) const {
  for (Node* node : item.graph->nodes()) {
    if (!node->IsOp("Mul") || node->output_type(0) != DType::kFloat || item.IsPreserved(node) ||
        !item.HasKernel("_Gelu", *node)) {
      continue;
    }
    const Factors product = FactorsOf({node, 0});
    if (product.factors.size() != 2 || !IsNear(product.scale, 0.5)) continue;
    for (int i : {0, 1}) {
      const Endpoint x = product.factors[i];
      const std::optional<bool> approximate = GateOf(product.factors[1 - i], x);
      if (!approximate.has_value()) continue;
      RETURN_IF_ERROR(ReplacePattern(item.graph, node, "_Gelu",
                                     {{"T", DType::kFloat}, {"approximate", *approximate}}, {x})
                          .status());
      *changed = true;
      break;
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
