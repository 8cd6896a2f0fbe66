#include "runtime/optimize/hoist_reshapes.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/fused_activation.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

std::optional<int64_t> LastElement(const Endpoint& vector) {
  const auto elements = ConstantInts(vector);
  if (!elements.has_value() || elements->empty()) return std::nullopt;
  return elements->back();
}

// The last dimension that a shape operand asks for, if that is known before the run.
std::optional<int64_t> LastDim(const Endpoint& shape) {
  const Node* node = shape.node;
  if (node->IsOp("ConcatV2")) return LastElement(node->input(node->num_inputs() - 2));
  if (node->IsOp("Pack")) return LastElement(node->input(node->num_inputs() - 1));
  return LastElement(shape);
}

// Returns true if the last dimension stays that of a product with so many channels. A Squeeze drops
// no dimension but those of one element.
bool KeepsChannels(const Node& reshape, int64_t channels) {
  return channels > 1 && (reshape.IsOp("Squeeze") || LastDim(reshape.input(1)) == channels);
}

// Reshape(product) or Squeeze(product) as the operand of `node`.
struct Match {
  Node* reshape = nullptr;
  std::optional<Endpoint> bias;  // none for an activation
};

class Hoister {
 public:
  explicit Hoister(const OptimizationItem& item) : item_(item), graph_(*item.graph) {}

  std::optional<Match> Find(Node* node) const {
    if (item_.IsPreserved(node) || node->num_outputs() != 1) return std::nullopt;
    if (!FusedActivation(*node).empty()) {
      Node* reshape = ReshapeOfProduct(node->input(0).node, *node);
      if (reshape == nullptr) return std::nullopt;
      return Match{reshape, std::nullopt};
    }
    const bool is_bias_add = node->IsOp("BiasAdd");
    if (is_bias_add ? !IsChannelsLast(*node) : !node->IsOp("Add") && !node->IsOp("AddV2")) {
      return std::nullopt;
    }
    for (int side : {0, 1}) {
      if (is_bias_add && side == 1) break;
      Node* reshape = ReshapeOfProduct(node->input(side).node, *node);
      const Endpoint bias = node->input(1 - side);
      if (reshape == nullptr || bias.node == nullptr) continue;
      const auto linear = AsLinearOp(reshape->input(0).node);
      // A vector that is as long as both last dimensions; one of length 1 would repeat.
      if (!linear.has_value() || !KeepsChannels(*reshape, linear->channels) ||
          !IsPerChannel(*linear, KnownShape(bias)) || KnownShape(bias).rank() != 1) {
        continue;
      }
      return Match{reshape, bias};
    }
    return std::nullopt;
  }

  // node(Reshape(product, shape)) as Reshape(node(product), shape).
  absl::Status Hoist(const Match& match, Node* node) {
    const Endpoint product = match.reshape->input(0);
    const DType dtype = node->output_type(0);
    Node* hoisted = nullptr;
    if (match.bias.has_value()) {
      ASSIGN_OR_RETURN(
          hoisted,
          graph_.AddNode(graph_.UniqueName(absl::StrCat(node->name(), "/hoisted")), "BiasAdd",
                         {{"T", dtype}}, {product, *match.bias}, node->device()));
    } else {
      ASSIGN_OR_RETURN(hoisted,
                       graph_.AddNode(graph_.UniqueName(absl::StrCat(node->name(), "/hoisted")),
                                      node->op_name(), node->attrs(), {product}, node->device()));
    }
    for (Node* control : node->control_inputs()) graph_.AddControlEdge(control, hoisted);
    Node* reshape = match.reshape;
    std::vector<Endpoint> inputs = reshape->inputs();
    inputs[0] = {hoisted, 0};
    ASSIGN_OR_RETURN(Node * result,
                     ReplaceNode(&graph_, node, reshape->op_name(), reshape->attrs(), inputs));
    for (Node* control : reshape->control_inputs()) graph_.AddControlEdge(control, result);
    graph_.Remove(reshape);
    return absl::OkStatus();
  }

 private:
  // `reshape` if it is a Reshape of a MatMul or a Squeeze of a Conv2D, with or without a bias, for
  // `user` alone.
  Node* ReshapeOfProduct(Node* reshape, const Node& user) const {
    const bool squeezes = reshape != nullptr && reshape->IsOp("Squeeze");
    if (reshape == nullptr || (!squeezes && !reshape->IsOp("Reshape")) ||
        item_.IsPreserved(reshape) || !HasOneUse(*reshape) || reshape->device() != user.device() ||
        reshape->output_type(0) != DType::kFloat) {
      return nullptr;
    }
    Node* product = reshape->input(0).node;
    if (product == nullptr || item_.IsPreserved(product) || !HasOneUse(*product)) return nullptr;
    const Node* linear = product->IsOp("BiasAdd") ? product->input(0).node : product;
    return linear != nullptr && linear->IsOp(squeezes ? "Conv2D" : "MatMul") ? reshape : nullptr;
  }

  const OptimizationItem& item_;
  Graph& graph_;
};

}  // namespace

absl::Status HoistReshapesPass::Run(OptimizationItem& item, bool* changed) const {
  Hoister hoister(item);
  // A bias that has moved lets the activation after it move.
  for (bool moved = true; moved;) {
    moved = false;
    for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
      Node* node = item.graph->node(id);
      if (node == nullptr) continue;
      const std::optional<Match> match = hoister.Find(node);
      if (!match.has_value()) continue;
      RETURN_IF_ERROR(hoister.Hoist(*match, node));
      moved = *changed = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
