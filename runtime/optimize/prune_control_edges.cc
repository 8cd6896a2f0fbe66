#include "runtime/optimize/prune_control_edges.h"

#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/side_effects.h"
#include "runtime/optimize/control_flow.h"

namespace tessera {
absl::Status PruneControlEdgesPass::Run(OptimizationItem& item, bool* changed) const {
  Graph& graph = *item.graph;
  if (HasControlFlow(graph)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph));
  const FunctionLibrary* library = graph.library().get();
  // By node id, the node itself included.
  std::vector<bool> effect_before(graph.id_bound()), read_before(graph.id_bound()),
      effect_after(graph.id_bound());
  for (const Node* node : order) {
    const int id = node->id();
    effect_before[id] = HasSideEffect(*node, library);
    read_before[id] = DependsOnState(*node);
    auto join = [&](const Node* from) {
      if (from == nullptr) return;
      effect_before[id] = effect_before[id] || effect_before[from->id()];
      read_before[id] = read_before[id] || read_before[from->id()];
    };
    for (const Endpoint& input : node->inputs()) join(input.node);
    for (const Node* control : node->control_inputs()) join(control);
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node* node = *it;
    const int id = node->id();
    effect_after[id] = HasSideEffect(*node, library);
    auto join = [&](const Node* to) {
      effect_after[id] = effect_after[id] || effect_after[to->id()];
    };
    for (int i = 0; i < node->num_outputs(); ++i) {
      for (const Use& use : node->uses(i)) join(use.node);
    }
    for (const Node* to : node->control_outputs()) join(to);
  }
  for (Node* from : order) {
    const std::vector<Node*> outputs = from->control_outputs();
    for (Node* to : outputs) {
      if (effect_before[from->id()] || (read_before[from->id()] && effect_after[to->id()]) ||
          item.IsPreserved(to)) {
        continue;
      }
      graph.RemoveControlEdge(from, to);
      *changed = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
