// Finds v1 control flow, whose dead values and frames many rewrites must leave alone.
#pragma once

#include "runtime/graph/graph.h"

namespace tessera {

// Returns true if some node's op is v1 control flow (OpTrait::kControlFlow).
bool HasControlFlow(const Graph& graph);

}  // namespace tessera
