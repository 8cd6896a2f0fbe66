#include "runtime/optimize/replace_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// Those on the ways from `inputs` to `root`, which is the last: what `root` is computed by.
std::vector<const Node*> NodesOfPattern(const Node* root, const std::vector<Endpoint>& inputs) {
  std::vector<const Node*> nodes = {root};
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Endpoint& from : nodes[i]->inputs()) {
      if (from.node != nullptr && std::find(inputs.begin(), inputs.end(), from) == inputs.end() &&
          std::find(nodes.begin(), nodes.end(), from.node) == nodes.end()) {
        nodes.push_back(from.node);
      }
    }
  }
  return nodes;
}

}  // namespace

absl::StatusOr<Node*> ReplaceNode(Graph* graph, Node* root, const std::string& op, AttrMap attrs,
                                  const std::vector<Endpoint>& inputs) {
  ASSIGN_OR_RETURN(Node * replacement,
                   graph->AddNode(graph->UniqueName(absl::StrCat(root->name(), "/fused")), op,
                                  std::move(attrs), inputs, root->device()));
  RETURN_IF_ERROR(graph->ReplaceUses({root, 0}, {replacement, 0}));
  for (Node* control : root->control_inputs()) graph->AddControlEdge(control, replacement);
  graph->MoveControlOutputs(root, replacement);
  graph->Remove(root);
  return replacement;
}

absl::StatusOr<Node*> ReplacePattern(Graph* graph, Node* root, const std::string& op, AttrMap attrs,
                                     const std::vector<Endpoint>& inputs) {
  std::vector<Node*> awaited;
  for (const Node* node : NodesOfPattern(root, inputs)) {
    awaited.insert(awaited.end(), node->control_inputs().begin(), node->control_inputs().end());
  }
  ASSIGN_OR_RETURN(Node * replacement, ReplaceNode(graph, root, op, std::move(attrs), inputs));
  for (Node* node : awaited) graph->AddControlEdge(node, replacement);
  return replacement;
}

void RemoveReplaced(Graph* graph, const std::vector<Node*>& nodes, Node* replacement) {
  for (Node* node : nodes) {
    for (Node* control : node->control_inputs()) {
      if (std::find(nodes.begin(), nodes.end(), control) == nodes.end()) {
        graph->AddControlEdge(control, replacement);
      }
    }
  }
  for (Node* node : nodes) graph->MoveControlOutputs(node, replacement);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) graph->Remove(*it);
}

AttrMap AttrsFor(const OpDef& op, const Node& node) {
  AttrMap attrs;
  for (const auto& [name, value] : node.attrs()) {
    if (op.FindAttr(name) != nullptr) attrs.emplace(name, value);
  }
  return attrs;
}

bool HasOtherUsers(const Node& node, const std::vector<const Node*>& users) {
  if (!node.control_outputs().empty()) return true;
  for (int i = 0; i < node.num_outputs(); ++i) {
    for (const Use& use : node.uses(i)) {
      if (std::find(users.begin(), users.end(), use.node) == users.end()) return true;
    }
  }
  return false;
}

}  // namespace tessera
