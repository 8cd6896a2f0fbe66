// One new node for the end of a matched pattern.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Adds a node of `op` that takes the place of `root`, a node with one output, which is removed: its
// uses and control edges go over. What only `root` needed stays in the graph, unused. Returns the
// new node. Errors: those of Graph::AddNode().
absl::StatusOr<Node*> ReplaceNode(Graph* graph, Node* root, const std::string& op, AttrMap attrs,
                                  const std::vector<Endpoint>& inputs);

// The same for a pattern: the new node does what `root` and all nodes between `inputs` and it do,
// and waits for what any of them waited for. Requires that `root` depends on nothing but `inputs`
// and constants.
absl::StatusOr<Node*> ReplacePattern(Graph* graph, Node* root, const std::string& op, AttrMap attrs,
                                     const std::vector<Endpoint>& inputs);

// Gives `replacement` the control edges that lead from other nodes to `nodes`, and all that leave
// them. Removes `nodes`, the last one first.
void RemoveReplaced(Graph* graph, const std::vector<Node*>& nodes, Node* replacement);

// The attributes of `node` that `op` has as well.
AttrMap AttrsFor(const OpDef& op, const Node& node);

// True if other nodes than `users` use outputs of `node` or wait for it.
bool HasOtherUsers(const Node& node, const std::vector<const Node*>& users);

}  // namespace tessera
