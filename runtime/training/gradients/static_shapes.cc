#include "runtime/training/gradients/static_shapes.h"

#include <utility>
#include <vector>

#include "runtime/framework/shape_inference.h"
#include "runtime/graph/graph_algorithms.h"

namespace tessera {
namespace {

// Returns the value of a Const node; null for others.
const Tensor* ValueOf(const Node& node) {
  if (!node.IsOp("Const")) return nullptr;
  const auto value = node.attrs().find("value");
  return value == node.attrs().end() ? nullptr : value->second.get<Tensor>();
}

}  // namespace

StaticShapes::StaticShapes(const Graph& graph) {
  shapes_.resize(graph.id_bound());
  const absl::StatusOr<std::vector<Node*>> order = TopologicalOrder(graph);
  if (!order.ok()) return;
  for (const Node* node : *order) Infer(*node);
}

PartialShape StaticShapes::Of(const Endpoint& endpoint) const {
  if (endpoint.node == nullptr || endpoint.node->id() >= static_cast<int>(shapes_.size())) {
    return PartialShape();
  }
  const std::vector<PartialShape>& outputs = shapes_[endpoint.node->id()];
  return endpoint.index < static_cast<int>(outputs.size()) ? outputs[endpoint.index]
                                                           : PartialShape();
}

void StaticShapes::Infer(const Node& node) {
  std::vector<PartialShape>& outputs = shapes_[node.id()];
  if (const Tensor* value = ValueOf(node)) {
    outputs = {PartialShape(value->shape())};
    return;
  }
  // A variable's value has the shape that the variable or its handle was made with.
  const Node* variable = &node;
  if (node.IsOp("ReadVariableOp")) {
    variable = node.input(0).node;
    while (variable != nullptr && variable->IsOp("Identity")) variable = variable->input(0).node;
    if (variable == nullptr || !variable->IsOp("VarHandleOp")) return;
  }
  if (variable != &node || node.IsOp("VariableV2")) {
    if (auto shape = variable->attr<PartialShape>("shape"); shape.ok()) outputs = {*shape};
    return;
  }
  if (node.op().shape_fn == nullptr) return;
  std::vector<PartialShape> inputs;
  std::vector<const Tensor*> values;
  for (const Endpoint& input : node.inputs()) {
    inputs.push_back(Of(input));
    values.push_back(input.node == nullptr ? nullptr : ValueOf(*input.node));
  }
  ShapeContext context(node.op(), node.attrs(), std::move(inputs), std::move(values),
                       node.num_outputs());
  // A shape that cannot be right shows when the graph runs.
  if (node.op().shape_fn(context).ok()) outputs = context.outputs();
}

}  // namespace tessera
