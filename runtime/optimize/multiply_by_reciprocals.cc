#include "runtime/optimize/multiply_by_reciprocals.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

bool IsQuotientByConstant(const OptimizationItem& item, const Node& node) {
  if (!node.IsOp("RealDiv") && !node.IsOp("Div") && !node.IsOp("Xdivy")) return false;
  const DType dtype = node.output_type(0);
  if (!IsFloating(dtype) && !IsComplex(dtype)) return false;
  // What has two constants is folded.
  return ConstantValue(node.input(1)) != nullptr && PresentValue(node.input(0)) == nullptr &&
         !item.IsPreserved(&node);
}

}  // namespace

absl::Status MultiplyByReciprocalsPass::Run(OptimizationItem& item, bool* changed) const {
  Graph& graph = *item.graph;
  for (Node* const node : graph.nodes()) {
    if (!IsQuotientByConstant(item, *node)) continue;
    const bool is_xdivy = node->IsOp("Xdivy");
    const char* const product = is_xdivy ? "MulNoNan" : "Mul";
    const AttrMap attrs = {{"T", node->output_type(0)}};
    if (!item.HasKernel(product, *node, attrs) || !item.HasKernel("Reciprocal", *node, attrs)) {
      continue;
    }
    ASSIGN_OR_RETURN(Node* const reciprocal,
                     graph.AddNode(graph.UniqueName(absl::StrCat(node->name(), "/reciprocal")),
                                   "Reciprocal", attrs, {node->input(1)}, node->device()));
    const Endpoint x = node->input(0), inverse = {reciprocal, 0};
    RETURN_IF_ERROR(ReplaceNode(&graph, node, product, attrs,
                                is_xdivy ? std::vector<Endpoint>{inverse, x}
                                         : std::vector<Endpoint>{x, inverse})
                        .status());
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera
