#include "runtime/optimize/absorb_scales.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/fold_constants.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// A convolution with a filter from `scaling` that can take the scale in; null if there is none.
Node* NextConvolution(const OptimizationItem& item, const Node& scaling) {
  for (const Use& use : scaling.uses(0)) {
    const bool is_convolution = use.node->IsOp("Conv2D") || use.node->IsOp("_FusedConv2D");
    if (use.index == 1 && is_convolution && !HasScale(*use.node) && !item.IsPreserved(use.node)) {
      return use.node;
    }
  }
  return nullptr;
}

absl::Status Absorb(const Node& scaling, Node* convolution, Graph* graph) {
  std::vector<Endpoint> inputs = convolution->inputs();
  inputs[1] = scaling.input(0);
  inputs.push_back(scaling.input(1));
  const char* const fused = "_FusedConv2D";
  AttrMap attrs = AttrsFor(*graph->FindOp(fused), *convolution);
  attrs.emplace("num_args", 0);
  attrs.emplace("TArgs", std::vector<DType>());
  attrs.insert_or_assign("num_scales", 1);
  return ReplaceNode(graph, convolution, fused, std::move(attrs), inputs).status();
}

}  // namespace

absl::Status AbsorbScalesPass::Run(OptimizationItem& item, bool* changed) const {
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    Node* scaling = item.graph->node(id);
    if (scaling == nullptr || !scaling->IsOp("_ScaleWeights")) continue;
    const Tensor* const weights = UnscaledValue({scaling, 0});
    if (weights == nullptr) continue;
    const int64_t channels = PresentValue(scaling->input(1))->num_elements();
    const bool is_filter = weights->rank() == 4 && weights->dim(3) == channels &&
                           item.HasKernel("_FusedConv2D", *scaling);
    while (Node* convolution = is_filter ? NextConvolution(item, *scaling) : nullptr) {
      RETURN_IF_ERROR(Absorb(*scaling, convolution, item.graph));
      *changed = true;
    }
    if (scaling->uses(0).empty()) continue;
    ASSIGN_OR_RETURN(const bool folded, FoldNode(item, scaling));
    *changed |= folded;
  }
  return absl::OkStatus();
}

}  // namespace tessera
