// Replaces a node, or a pattern of nodes, by one new node.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Replaces `root`, a node with one output, by a new node of `op`, which takes over all uses and
// control edges. Nodes that only `root` needed stay in the graph, unused. Returns the new node.
// Errors: those of Graph::AddNode().
absl::StatusOr<Node*> ReplaceNode(Graph* graph, Node* root, const std::string& op, AttrMap attrs,
                                  const std::vector<Endpoint>& inputs);

// Like ReplaceNode(), for a new node that stands for `root` and all nodes between `inputs` and
// `root`: it gets the control inputs of all of them. Requires that `root` depends only on `inputs`
// and on constants.
absl::StatusOr<Node*> ReplacePattern(Graph* graph, Node* root, const std::string& op, AttrMap attrs,
                                     const std::vector<Endpoint>& inputs);

// Moves the control edges between `nodes` and other nodes to `replacement`, then removes `nodes`,
// starting with the last one.
void RemoveReplaced(Graph* graph, const std::vector<Node*>& nodes, Node* replacement);

// Returns the attributes of `node` that `op` declares as well.
AttrMap AttrsFor(const OpDef& op, const Node& node);

// True if nodes other than `users` use an output of `node` or have a control edge from it.
bool HasOtherUsers(const Node& node, const std::vector<const Node*>& users);

}  // namespace tessera
