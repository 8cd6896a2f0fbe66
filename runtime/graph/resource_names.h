// The names under which nodes keep what outlives a run.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/graph.h"

namespace tessera {

// A name for each resource that the node makes, or makes a handle or a reference of, in the order
// of its outputs: variables, tables, queues. Two nodes with a common name share the resource. Empty
// for nodes whose resources belong to the step, and for nodes that make none.
std::vector<std::string> ResourceNames(const Node& node);

}  // namespace tessera
