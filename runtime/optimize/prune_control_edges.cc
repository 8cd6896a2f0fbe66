#include "runtime/optimize/prune_control_edges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/side_effects.h"
#include "runtime/optimize/control_flow.h"

namespace tessera {
namespace {

// Nodes that are looked at for one edge: what a derivative consists of is close by.
constexpr size_t kMaxNodes = 64;

// Calls visit(node) for `start` and for what depends on it, in breadth-first order and without the
// control edge from -> to. Where visit() returns false, the search does not go on. Stops early at
// kMaxNodes nodes. Returns the nodes that it has visited.
absl::flat_hash_set<Node*> VisitDependents(Node* start, const Node* from, const Node* to,
                                           absl::FunctionRef<bool(Node*)> visit) {
  absl::flat_hash_set<Node*> seen{start};
  std::vector<Node*> queue{start};
  // A node may have thousands of users, which are not looked at once there are kMaxNodes nodes.
  const auto is_full = [&] { return seen.size() >= kMaxNodes; };
  const auto add = [&](const Node* node, Node* next) {
    if (node == from && next == to) return;
    if (seen.insert(next).second) queue.push_back(next);
  };
  for (size_t i = 0; i < queue.size(); ++i) {
    Node* const node = queue[i];
    if (!visit(node)) continue;
    for (int output = 0; output < node->num_outputs(); ++output) {
      for (const Use& use : node->uses(output)) {
        if (is_full()) break;
        add(node, use.node);
      }
    }
    for (Node* next : node->control_outputs()) {
      if (is_full()) break;
      add(node, next);
    }
  }
  return seen;
}

// Returns true if the node reads a variable through a reference, which is when it runs.
bool ReadsReference(const Node& node) {
  const auto& inputs = node.inputs();
  return std::any_of(inputs.begin(), inputs.end(), [](const Endpoint& from) {
    return IsRef(from.node->output_type(from.index));
  });
}

// Returns true if the control edge orders nothing that is not in this order without it.
bool IsRedundant(const OptimizationItem& item, const FunctionLibrary* library, Node* from,
                 Node* to) {
  const auto dependents = VisitDependents(from, from, to, [](Node*) { return true; });
  bool meets = true;
  const auto reached = VisitDependents(to, from, to, [&](Node* node) {
    if (dependents.contains(node)) return false;
    meets = meets && !HasSideEffect(*node, library) && !DependsOnState(*node) &&
            !ReadsReference(*node) && !item.IsPreserved(node);
    return meets;
  });
  return meets && reached.size() < kMaxNodes;
}

// Returns true if the node fails on purpose, or calls what may do so.
bool MayAssert(const Node& node, const FunctionLibrary* library) {
  if (node.op().Has(OpTrait::kCallsFunctions)) return HasSideEffect(node, library);
  return node.op().Has(OpTrait::kAsserts);
}

// The assertions that run before each node of a graph, itself included, as bits. Control edges are
// to be removed by RemoveEdge().
class Assertions {
 public:
  Assertions(const Graph& graph, const std::vector<Node*>& order) : before_(graph.id_bound()) {
    const FunctionLibrary* const library = graph.library().get();
    uint64_t next = 1;
    for (const Node* node : order) {
      uint64_t& before = before_[node->id()];
      ForEachSource(*node, [&](uint64_t source) { before |= source; });
      if (!MayAssert(*node, library)) continue;
      before |= next;
      if (next != kOthers) next <<= 1;
    }
  }

  // Returns true if an assertion runs before `to` by this control edge alone. Removing an edge for
  // which that is false changes what runs before any node in no way.
  bool AreOrderedBy(const Node& from, const Node& to) {
    const uint64_t before = before_[from.id()];
    if (before == 0 || (before & kOthers) != 0) return before != 0;
    const Counts& counts = SourcesOf(to);
    bool is_only = false;
    ForEachBit(before, [&](int bit) { is_only = is_only || counts[bit] == 1; });
    return is_only;
  }

  void RemoveEdge(Graph& graph, Node* from, Node* to) {
    if (const uint64_t before = before_[from->id()]; before != 0) {
      Counts& counts = SourcesOf(*to);
      ForEachBit(before, [&](int bit) { --counts[bit]; });
    }
    graph.RemoveControlEdge(from, to);
  }

 private:
  // By bit, the edges to a node by which an assertion runs before it.
  using Counts = std::array<int, 64>;

  // All assertions that have no bit of their own.
  static constexpr uint64_t kOthers = uint64_t{1} << 63;

  // Calls visit(assertions before the source) for each edge to a node.
  void ForEachSource(const Node& node, absl::FunctionRef<void(uint64_t)> visit) const {
    for (const Endpoint& input : node.inputs()) {
      if (input.node != nullptr) visit(before_[input.node->id()]);
    }
    for (const Node* control : node.control_inputs()) visit(before_[control->id()]);
  }

  static void ForEachBit(uint64_t bits, absl::FunctionRef<void(int)> visit) {
    for (; bits != 0; bits &= bits - 1) visit(std::countr_zero(bits));
  }

  // Counts once for each node: an init op has thousands of edges, which are looked at in turn.
  Counts& SourcesOf(const Node& node) {
    const auto [found, is_new] = sources_.try_emplace(&node);
    Counts& counts = found->second;
    if (is_new) {
      counts.fill(0);
      ForEachSource(node,
                    [&](uint64_t source) { ForEachBit(source, [&](int bit) { ++counts[bit]; }); });
    }
    return counts;
  }

  std::vector<uint64_t> before_;  // by node id
  absl::flat_hash_map<const Node*, Counts> sources_;
};

}  // namespace

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
  Assertions assertions(graph, order);
  for (Node* from : order) {
    const std::vector<Node*> outputs = from->control_outputs();
    for (Node* to : outputs) {
      if (item.IsPreserved(to)) continue;
      const bool is_needed =
          effect_before[from->id()] || (read_before[from->id()] && effect_after[to->id()]);
      if (is_needed &&
          (assertions.AreOrderedBy(*from, *to) || !IsRedundant(item, library, from, to))) {
        continue;
      }
      assertions.RemoveEdge(graph, from, to);
      *changed = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
