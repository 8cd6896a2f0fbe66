// Tells the nodes of v1 control flow apart. Each has a twin for references.
#pragma once

#include "runtime/graph/graph.h"

namespace tessera {

inline bool IsEnter(const Node& node) { return node.IsOp("Enter") || node.IsOp("RefEnter"); }
inline bool IsExit(const Node& node) { return node.IsOp("Exit") || node.IsOp("RefExit"); }
inline bool IsMerge(const Node& node) { return node.IsOp("Merge") || node.IsOp("RefMerge"); }
inline bool IsNextIteration(const Node& node) {
  return node.IsOp("NextIteration") || node.IsOp("RefNextIteration");
}
inline bool IsSwitch(const Node& node) { return node.IsOp("Switch") || node.IsOp("RefSwitch"); }
// Whether a node gives one of its outputs only: a Switch, or _SwitchN, that of a Case.
inline bool IsBranch(const Node& node) { return IsSwitch(node) || node.IsOp("_SwitchN"); }

}  // namespace tessera
