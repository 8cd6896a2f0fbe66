#include "runtime/training/gradients/condition_contexts.h"

#include <algorithm>

#include "runtime/graph/control_flow_nodes.h"
#include "runtime/graph/graph_algorithms.h"

namespace tessera {
namespace {

// A loop's Switch does not open a branch: its body is a frame.
bool OpensBranch(const Node& node) {
  return IsSwitch(node) && node.input(1).node != nullptr && !node.input(1).node->IsOp("LoopCond");
}

bool HeadsLoop(const Node& merge) {
  return std::any_of(merge.inputs().begin(), merge.inputs().end(), [](const Endpoint& input) {
    return input.node != nullptr && IsNextIteration(*input.node);
  });
}

// Returns the predicate of a Switch. A condition of tf.compat.v1 switches its pivots by the
// predicate and its values by an Identity of it, and both are branches of the one condition.
Endpoint PredicateOf(const Node& switch_node) {
  Endpoint predicate = switch_node.input(1);
  while (predicate.node->IsOp("Identity") && predicate.node->input(0).node != nullptr) {
    predicate = predicate.node->input(0);
  }
  return predicate;
}

void AddMissing(const std::vector<ConditionBranch>& from, std::vector<ConditionBranch>* to) {
  for (const ConditionBranch& branch : from) {
    if (std::find(to->begin(), to->end(), branch) == to->end()) to->push_back(branch);
  }
}

}  // namespace

ConditionContexts::ConditionContexts(const Graph& graph) : of_node_(graph.id_bound()) {
  const absl::StatusOr<std::vector<Node*>> order = TopologicalOrder(graph);
  if (!order.ok()) return;
  for (const Node* node : *order) Visit(*node);
}

std::vector<ConditionBranch> ConditionContexts::Of(const Endpoint& endpoint) const {
  if (endpoint.node->id() >= static_cast<int>(of_node_.size())) return {};
  std::vector<ConditionBranch> branches = of_node_[endpoint.node->id()];
  if (OpensBranch(*endpoint.node)) {
    branches.push_back({PredicateOf(*endpoint.node), endpoint.index == 1});
  }
  return branches;
}

std::optional<ConditionBranch> ConditionContexts::FirstInputOf(const Node& merge) const {
  if (merge.num_inputs() != 2 || HeadsLoop(merge)) return std::nullopt;
  if (merge.input(0).node == nullptr || merge.input(1).node == nullptr) return std::nullopt;
  const std::vector<ConditionBranch> first = Of(merge.input(0));
  const std::vector<ConditionBranch> second = Of(merge.input(1));
  // The innermost predicate on which they differ.
  for (auto branch = first.rbegin(); branch != first.rend(); ++branch) {
    const ConditionBranch other = {branch->predicate, !branch->taken};
    if (std::find(second.begin(), second.end(), other) != second.end()) return *branch;
  }
  return std::nullopt;
}

void ConditionContexts::Visit(const Node& node) {
  std::vector<ConditionBranch> branches;
  for (const Endpoint& input : node.inputs()) {
    if (input.node != nullptr) AddMissing(Of(input), &branches);
  }
  for (const Node* control : node.control_inputs()) {
    AddMissing(of_node_[control->id()], &branches);
  }
  if (IsMerge(node)) {
    if (const std::optional<ConditionBranch> closed = FirstInputOf(node)) {
      branches.erase(std::remove_if(branches.begin(), branches.end(),
                                    [&](const ConditionBranch& branch) {
                                      return branch.predicate == closed->predicate;
                                    }),
                     branches.end());
    }
  }
  of_node_[node.id()] = std::move(branches);
}

}  // namespace tessera
