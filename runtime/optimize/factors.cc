#include "runtime/optimize/factors.h"

#include <cmath>

#include "runtime/optimize/constant_node.h"

namespace tessera {
namespace {

void Collect(const Endpoint& value, int depth, Factors* result) {
  constexpr int kMaxDepth = 8;
  const Node* node = value.node;
  if (node == nullptr) return;
  if (const auto scalar = ScalarConstant(value); scalar.has_value()) {
    result->scale *= *scalar;
  } else if (depth < kMaxDepth && node->IsOp("Mul")) {
    Collect(node->input(0), depth + 1, result);
    Collect(node->input(1), depth + 1, result);
  } else if (depth < kMaxDepth && node->IsOp("Neg")) {
    result->scale = -result->scale;
    Collect(node->input(0), depth + 1, result);
  } else if (const auto divisor = node->IsOp("RealDiv") && depth < kMaxDepth
                                      ? ScalarConstant(node->input(1))
                                      : std::nullopt;
             divisor.has_value() && *divisor != 0) {
    result->scale /= *divisor;
    Collect(node->input(0), depth + 1, result);
  } else {
    result->factors.push_back(value);
  }
}

}  // namespace

Factors FactorsOf(const Endpoint& value) {
  Factors result;
  Collect(value, 0, &result);
  return result;
}

std::optional<double> ScalarConstant(const Endpoint& value, int max_rank) {
  const Tensor* constant = value.node == nullptr ? nullptr : ConstantValue(value);
  if (constant == nullptr || constant->dtype() != DType::kFloat || constant->num_elements() != 1 ||
      constant->rank() > max_rank) {
    return std::nullopt;
  }
  return constant->flat<float>()[0];
}

std::optional<Endpoint> PlusConstant(const Endpoint& value, double* constant) {
  const Node* node = value.node;
  if (node == nullptr || (!node->IsOp("Add") && !node->IsOp("AddV2"))) return std::nullopt;
  for (int side : {0, 1}) {
    if (const auto scalar = ScalarConstant(node->input(side)); scalar.has_value()) {
      *constant = *scalar;
      return node->input(1 - side);
    }
  }
  return std::nullopt;
}

bool IsNear(double a, double b) { return std::abs(a - b) <= 2e-6 * std::abs(b); }

}  // namespace tessera
