// Topological order and reachability.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Returns the nodes in topological order of data and control edges. Edges from a NextIteration to a
// Merge, which close loops, are ignored. Ties are broken by id, so that the order is deterministic.
// Errors: INVALID_ARGUMENT naming the nodes of a cycle.
absl::StatusOr<std::vector<Node*>> TopologicalOrder(const Graph& graph);
absl::Status CheckAcyclic(const Graph& graph);
// Returns `roots` and all nodes that they depend on, in order of id.
std::vector<Node*> Ancestors(const Graph& graph, const std::vector<Node*>& roots);
// Removes every node that no root needs. Returns how many.
int RemoveAllBut(Graph* graph, const std::vector<Node*>& roots);

}  // namespace tessera
