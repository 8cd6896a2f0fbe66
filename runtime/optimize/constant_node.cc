#include "runtime/optimize/constant_node.h"

#include <utility>

namespace tessera {

namespace {

constexpr absl::string_view kDerived = "_derived";

}  // namespace

const Tensor* ConstantValue(const Endpoint& endpoint) {
  const Tensor* value = PresentValue(endpoint);
  return value == nullptr || DerivedNumber(*endpoint.node) >= 0 ? nullptr : value;
}

std::optional<std::vector<int64_t>> ConstantInts(const Endpoint& endpoint) {
  const Tensor* value = ConstantValue(endpoint);
  return value == nullptr ? std::nullopt : IntElements(*value);
}

int64_t DerivedNumber(const Node& node) {
  if (!node.IsOp("Const")) return -1;
  const auto found = node.attrs().find(kDerived);
  const int64_t* number = found == node.attrs().end() ? nullptr : found->second.get<int64_t>();
  return number == nullptr ? -1 : *number;
}

void SetDerivedNumber(Node* constant, int64_t number) { constant->SetAttr(kDerived, number); }

const Tensor* PresentValue(const Endpoint& endpoint) {
  const Node* node = endpoint.node;
  if (node == nullptr || !node->IsOp("Const") || !node->control_inputs().empty()) return nullptr;
  auto found = node->attrs().find("value");
  const Tensor* value = found == node->attrs().end() ? nullptr : found->second.get<Tensor>();
  // Of one that contradicts itself, compiling tells.
  return value != nullptr && value->dtype() == node->output_type(0) ? value : nullptr;
}

const Tensor* UnscaledValue(const Endpoint& weights) {
  const Node* node = weights.node;
  if (node == nullptr || !node->IsOp("_ScaleWeights")) return PresentValue(weights);
  return PresentValue(node->input(1)) == nullptr ? nullptr : PresentValue(node->input(0));
}

absl::StatusOr<Node*> AddConstant(Graph* graph, absl::string_view name, Tensor value,
                                  absl::string_view device) {
  const DType dtype = value.dtype();
  return graph->AddNode(graph->UniqueName(name), "Const",
                        {{"dtype", dtype}, {"value", std::move(value)}}, device);
}

}  // namespace tessera
