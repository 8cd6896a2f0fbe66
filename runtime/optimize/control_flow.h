// v1 control flow, whose dead values and frames many rewrites must leave alone.
#pragma once

#include "runtime/graph/graph.h"

namespace tessera {

// Switch, Merge, Enter, Exit, NextIteration, LoopCond and their kin.
bool IsControlFlowNode(const Node& node);
// True if the graph has such a node.
bool HasControlFlow(const Graph& graph);

}  // namespace tessera
