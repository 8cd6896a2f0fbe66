#include "runtime/optimize/remove_no_ops.h"

#include "absl/container/flat_hash_set.h"
#include "runtime/base/status.h"
#include "runtime/graph/side_effects.h"
#include "runtime/optimize/constant_node.h"

namespace tessera {
namespace {

bool HasDevice(const Node& node, const std::string& device) {
  return node.device().empty() || device.empty() || node.device() == device;
}

bool IsIdentityPermutation(const std::vector<int64_t>& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return !permutation.empty();
}

// Returns how many outputs equal the inputs of the same position; 0 for nodes that do something.
int NumForwarded(const Node& node) {
  const std::vector<ArgDef>& args = node.op().inputs;
  if (args.size() == 1 && args[0].use == ArgUse::kForwarded && !DependsOnState(node)) {
    return node.num_outputs();
  }
  if (node.IsOp("Cast") || node.IsOp("_HostCast")) {
    return node.input_type(0) == node.output_type(0) ? 1 : 0;
  }
  if (node.IsOp("AddN")) return node.num_inputs() == 1 ? 1 : 0;
  if (node.IsOp("Transpose")) {
    const auto permutation = ConstantInts(node.input(1));
    return permutation.has_value() && IsIdentityPermutation(*permutation) ? 1 : 0;
  }
  return 0;
}

// The nodes at the other end of a node's edges.
std::vector<Node*> DataUsers(const Node& node) {
  absl::flat_hash_set<Node*> seen;
  std::vector<Node*> users;
  for (int i = 0; i < node.num_outputs(); ++i) {
    for (const Use& use : node.uses(i)) {
      if (seen.insert(use.node).second) users.push_back(use.node);
    }
  }
  return users;
}

class Remover {
 public:
  Remover(const OptimizationItem& item) : item_(item), graph_(*item.graph) {}

  absl::StatusOr<bool> Remove(Node* node) {
    if (item_.IsPreserved(node)) return false;
    if (node->IsOp("NoOp")) return RemoveNoOp(node);
    const int forwarded = NumForwarded(*node);
    if (forwarded == 0 || !MayForward(*node, forwarded)) return false;
    const std::vector<Node*> before = node->control_inputs();
    const std::vector<Node*> users = DataUsers(*node);
    const std::vector<Node*> waiting = node->control_outputs();
    std::vector<Node*> sources;
    for (int i = 0; i < forwarded; ++i) sources.push_back(node->input(i).node);
    const size_t now = before.size() + users.size() + sources.size() + waiting.size();
    const size_t then = before.size() * (users.size() + waiting.size()) +
                        sources.size() * waiting.size() + users.size();
    if (then > now) return false;
    for (int i = 0; i < forwarded; ++i) {
      RETURN_IF_ERROR(graph_.ReplaceUses({node, i}, node->input(i)));
    }
    for (Node* to : users) {
      for (Node* from : before) graph_.AddControlEdge(from, to);
    }
    for (Node* to : waiting) {
      for (Node* from : before) graph_.AddControlEdge(from, to);
      for (Node* from : sources) graph_.AddControlEdge(from, to);
    }
    graph_.Remove(node);
    return true;
  }

 private:
  bool RemoveNoOp(Node* node) {
    const std::vector<Node*> before = node->control_inputs();
    const std::vector<Node*> after = node->control_outputs();
    if (before.size() * after.size() > before.size() + after.size()) return false;
    for (Node* from : before) {
      if (!HasDevice(*from, node->device())) return false;
    }
    for (Node* from : before) {
      for (Node* to : after) graph_.AddControlEdge(from, to);
    }
    graph_.Remove(node);
    return true;
  }

  bool MayForward(const Node& node, int forwarded) const {
    bool tells_branches = false;
    for (int i = 0; i < forwarded; ++i) {
      const Endpoint& from = node.input(i);
      if (from.node == nullptr || IsRef(from.node->output_type(from.index)) ||
          !HasDevice(*from.node, node.device())) {
        return false;
      }
      tells_branches |= from.node->op().Has(OpTrait::kControlFlow);
    }
    if (tells_branches && !node.control_outputs().empty()) return false;
    if (!node.control_inputs().empty()) {
      for (const Node* user : DataUsers(node)) {
        if (user->op().Has(OpTrait::kControlFlow)) return false;
      }
    }
    return true;
  }

  const OptimizationItem& item_;
  Graph& graph_;
};

}  // namespace

absl::Status RemoveNoOpsPass::Run(OptimizationItem& item, bool* changed) const {
  Remover remover(item);
  for (Node* node : item.graph->nodes()) {
    ASSIGN_OR_RETURN(const bool removed, remover.Remove(node));
    *changed |= removed;
  }
  return absl::OkStatus();
}

}  // namespace tessera
