// Orders and reachability.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Nodes after all they depend on (data and control), edges into a Merge from NextIteration left
// out; ties in order of id, so that the result is deterministic.
// Errors: INVALID_ARGUMENT naming the nodes of a cycle.
absl::StatusOr<std::vector<Node*>> TopologicalOrder(const Graph& graph);
absl::Status CheckAcyclic(const Graph& graph);
// Nodes that `roots` depend on, themselves included, in order of id.
std::vector<Node*> Ancestors(const Graph& graph, const std::vector<Node*>& roots);
// Removes every node that no root needs. Returns how many.
int RemoveAllBut(Graph* graph, const std::vector<Node*>& roots);

}  // namespace tessera
