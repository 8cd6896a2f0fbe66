// The functions that a node calls.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace tessera {

struct FunctionCalls {
  std::vector<FunctionRef> functions;  // empty if the node calls none
  int first_arg = 0;                   // the input that is their first argument
  bool is_loop = false;                // results become arguments again
};

// Returns the calls of a node whose op is a function of the graph's library, or one that is
// declared to call functions (see OpTrait::kCallsFunctions).
FunctionCalls CallsOf(const Graph& graph, const Node& node);

}  // namespace tessera
