#include "runtime/optimize/replace_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

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
