#include "runtime/optimize/fuse_residual.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/fused_activation.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

using Ops = std::vector<std::string>;

// A product to which nothing but a bias is added yet.
bool IsBiasedProduct(const Node& node) {
  if (!node.IsOp("_FusedConv2D") && !node.IsOp("_FusedMatMul") &&
      !node.IsOp("_FusedBatchMatMulV2")) {
    return false;
  }
  const auto ops = node.attr<Ops>("fused_ops");
  return ops.ok() && *ops == Ops{"BiasAdd"} && node.num_inputs() == (HasScale(node) ? 4 : 3) &&
         node.output_type(0) == DType::kFloat;
}

// A product of matrices to which nothing is added yet.
bool IsPlainProduct(const OptimizationItem& item, const Node& node) {
  return (node.IsOp("MatMul") || IsBatchLinear(node)) && node.output_type(0) == DType::kFloat &&
         item.HasKernel(absl::StrCat("_Fused", node.op_name()), node);
}

bool IsSumOfTwo(const Node& node) {
  return node.IsOp("Add") || node.IsOp("AddV2") || (node.IsOp("AddN") && node.num_inputs() == 2);
}

struct Match {
  Node* product = nullptr;
  Node* add = nullptr;
  Endpoint branch;
  Node* activation = nullptr;  // may be null

  Node* last() const { return activation != nullptr ? activation : add; }
};

std::optional<Match> Find(const OptimizationItem& item, Node* add) {
  if (!IsSumOfTwo(*add) || item.IsPreserved(add)) return std::nullopt;
  for (int side : {0, 1}) {
    Node* product = add->input(side).node;
    if (product == nullptr || !HasOneUse(*product) ||
        !(IsBiasedProduct(*product) || IsPlainProduct(item, *product)) ||
        item.IsPreserved(product) || product->device() != add->device() ||
        PresentValue(add->input(1 - side)) != nullptr) {
      continue;
    }
    Match match{.product = product, .add = add, .branch = add->input(1 - side)};
    if (HasOneUse(*add)) {
      Node* next = add->uses(0)[0].node;
      if (!FusedActivation(*next).empty() && !item.IsPreserved(next) &&
          next->device() == add->device()) {
        match.activation = next;
      }
    }
    return match;
  }
  return std::nullopt;
}

absl::Status Fuse(const Match& match, Graph* graph) {
  const bool is_plain = !absl::StartsWith(match.product->op_name(), "_Fused");
  const std::string op = absl::StrCat(is_plain ? "_Fused" : "", match.product->op_name());
  AttrMap attrs = AttrsFor(*graph->FindOp(op), *match.product);
  Ops ops = {"BiasAdd", match.add->IsOp("AddN") ? "AddN" : "Add"};
  if (is_plain) ops.erase(ops.begin());
  if (match.activation != nullptr) {
    ops.push_back(FusedActivation(*match.activation));
    SetActivationAttrs(*match.activation, &attrs);
  }
  attrs.insert_or_assign("fused_ops", std::move(ops));
  attrs.insert_or_assign("num_args", is_plain ? 1 : 2);
  if (match.product->IsOp("_FusedConv2D")) {
    attrs.insert_or_assign("TArgs", std::vector<DType>{DType::kFloat, DType::kFloat});
  }
  std::vector<Endpoint> inputs = match.product->inputs();
  inputs.insert(inputs.begin() + (is_plain ? 2 : 3), match.branch);  // after the bias
  Node* last = match.last();
  ASSIGN_OR_RETURN(Node * fused, graph->AddNode(graph->UniqueName(last->name() + "/fused"), op,
                                                std::move(attrs), inputs, last->device()));
  RETURN_IF_ERROR(graph->ReplaceUses({last, 0}, {fused, 0}));
  std::vector<Node*> old = {match.product, match.add};
  if (match.activation != nullptr) old.push_back(match.activation);
  RemoveReplaced(graph, old, fused);
  return absl::OkStatus();
}

}  // namespace

absl::Status FuseResidualPass::Run(OptimizationItem& item, bool* changed) const {
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    if (item.graph->node(id) == nullptr) continue;
    const std::optional<Match> match = Find(item, item.graph->node(id));
    if (!match.has_value()) continue;
    RETURN_IF_ERROR(Fuse(*match, item.graph));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera
