#include "runtime/graph/graph_algorithms.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/graph/control_flow_nodes.h"

namespace tessera {
namespace {

// What a node waits for: all inputs, but a Merge does not wait for its loop's previous iteration.
template <typename Visit>
void ForEachDependency(const Node* node, bool with_back_edges, Visit visit) {
  const bool is_merge = !with_back_edges && IsMerge(*node);
  for (const Endpoint& input : node->inputs()) {
    if (input.node == nullptr || (is_merge && IsNextIteration(*input.node))) continue;
    visit(input.node);
  }
  for (Node* control : node->control_inputs()) visit(control);
}

// Every node with pending > 0 depends on another such node: walking back must come round.
absl::Status DescribeCycle(const Graph& graph, const std::vector<int>& pending) {
  Node* node = nullptr;
  for (int id = 0; id < graph.id_bound() && node == nullptr; ++id) {
    if (graph.node(id) != nullptr && pending[id] > 0) node = graph.node(id);
  }
  std::vector<Node*> path;
  std::vector<bool> seen(graph.id_bound(), false);
  while (!seen[node->id()]) {
    seen[node->id()] = true;
    path.push_back(node);
    Node* previous = nullptr;
    ForEachDependency(node, false, [&](Node* dependency) {
      if (pending[dependency->id()] > 0) previous = dependency;
    });
    node = previous;
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), node));
  std::reverse(path.begin(), path.end());
  constexpr size_t kMaxListed = 10;
  const size_t listed = std::min(path.size(), kMaxListed);
  return absl::InvalidArgumentError(
      absl::StrCat("the graph has a cycle outside loops of NextIteration and Merge, of ",
                   path.size(), " nodes: ",
                   absl::StrJoin(path.begin(), path.begin() + listed, " -> ",
                                 [](std::string* out, const Node* n) {
                                   absl::StrAppend(out, "'", n->name(), "' (", n->op_name(), ")");
                                 }),
                   listed < path.size() ? " -> ..." : ""));
}

}  // namespace

absl::StatusOr<std::vector<Node*>> TopologicalOrder(const Graph& graph) {
  std::vector<int> pending(graph.id_bound(), 0);
  std::vector<Node*> order;
  order.reserve(graph.num_nodes());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int id = 0; id < graph.id_bound(); ++id) {
    const Node* node = graph.node(id);
    if (node == nullptr) continue;
    ForEachDependency(node, false, [&](Node*) { ++pending[id]; });
    if (pending[id] == 0) ready.push(id);
  }
  while (!ready.empty()) {
    Node* node = graph.node(ready.top());
    ready.pop();
    order.push_back(node);
    auto release = [&](Node* to) {
      if (--pending[to->id()] == 0) ready.push(to->id());
    };
    const bool is_next_iteration = IsNextIteration(*node);
    for (int i = 0; i < node->num_outputs(); ++i) {
      for (const Use& use : node->uses(i)) {
        if (is_next_iteration && IsMerge(*use.node)) continue;
        release(use.node);
      }
    }
    for (Node* to : node->control_outputs()) release(to);
  }
  if (static_cast<int>(order.size()) < graph.num_nodes()) return DescribeCycle(graph, pending);
  return order;
}

absl::Status CheckAcyclic(const Graph& graph) { return TopologicalOrder(graph).status(); }

std::vector<Node*> Ancestors(const Graph& graph, const std::vector<Node*>& roots) {
  std::vector<bool> seen(graph.id_bound(), false);
  std::vector<Node*> stack;
  auto visit = [&](Node* node) {
    if (seen[node->id()]) return;
    seen[node->id()] = true;
    stack.push_back(node);
  };
  for (Node* root : roots) visit(root);
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    ForEachDependency(node, true, visit);
  }
  std::vector<Node*> ancestors;
  for (int id = 0; id < graph.id_bound(); ++id) {
    if (seen[id]) ancestors.push_back(graph.node(id));
  }
  return ancestors;
}

int RemoveAllBut(Graph* graph, const std::vector<Node*>& roots) {
  std::vector<bool> keep(graph->id_bound(), false);
  for (Node* node : Ancestors(*graph, roots)) keep[node->id()] = true;
  int removed = 0;
  for (int id = 0; id < graph->id_bound(); ++id) {
    if (graph->node(id) == nullptr || keep[id]) continue;
    graph->Remove(graph->node(id));
    ++removed;
  }
  return removed;
}

}  // namespace tessera
