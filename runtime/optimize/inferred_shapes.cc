#include "runtime/optimize/inferred_shapes.h"

#include "runtime/framework/shape_inference.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/linear_op.h"

namespace tessera {
namespace {

// Ops whose two operands and result have one shape, which their shape functions take from the first
// operand alone.
bool HasOneShape(const Node& node) {
  return node.IsOp("ReluGrad") || node.IsOp("RsqrtGrad") || node.IsOp("SigmoidGrad") ||
         node.IsOp("SqrtGrad") || node.IsOp("TanhGrad");
}

}  // namespace

InferredShapes::InferredShapes(const std::vector<Node*>& order) {
  for (Node* node : order) {
    if (PartialShape known = KnownShape({node, 0}); known.known_rank()) {
      shapes_.emplace(std::make_pair(node, 0), std::move(known));
      continue;
    }
    if (node->op().shape_fn == nullptr || node->num_outputs() == 0) continue;
    std::vector<PartialShape> inputs;
    std::vector<const Tensor*> values;
    if (HasOneShape(*node)) {
      auto merged = of(node->input(0)).MergeWith(of(node->input(1)));
      if (merged.ok() && merged->known_rank()) {
        shapes_.emplace(std::make_pair(node, 0), *std::move(merged));
      }
      continue;
    }
    for (const Endpoint& input : node->inputs()) {
      inputs.push_back(of(input));
      values.push_back(ConstantValue(input));
    }
    ShapeContext context(node->op(), node->attrs(), std::move(inputs), std::move(values),
                         node->num_outputs());
    if (!node->op().shape_fn(context).ok()) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const PartialShape& shape = context.outputs()[i];
      if (shape.known_rank()) shapes_.emplace(std::make_pair(node, i), shape);
    }
  }
}

const PartialShape& InferredShapes::of(const Node& node, int output) const {
  static const auto* const kUnknown = new PartialShape;
  const auto found = shapes_.find({&node, output});
  return found == shapes_.end() ? *kUnknown : found->second;
}

}  // namespace tessera
