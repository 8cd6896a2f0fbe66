#include "runtime/optimize/control_flow.h"

#include "absl/container/flat_hash_set.h"

namespace tessera {

bool IsControlFlowNode(const Node& node) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>{
      "Switch",        "_SwitchN", "Merge",           "Enter",     "Exit",
      "NextIteration", "LoopCond", "ControlTrigger",  "RefSwitch", "RefMerge",
      "RefEnter",      "RefExit",  "RefNextIteration"};
  return kOps->contains(node.op_name());
}

bool HasControlFlow(const Graph& graph) {
  for (int id = 0; id < graph.id_bound(); ++id) {
    if (graph.node(id) != nullptr && IsControlFlowNode(*graph.node(id))) return true;
  }
  return false;
}

}  // namespace tessera
