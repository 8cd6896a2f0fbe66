// Turns XlaCallModule nodes, by which JAX and Keras export StableHLO, into calls of functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera::stablehlo {

// Whether the graph or one of its functions has an XlaCallModule.
bool HasCallModules(const tensorflow::GraphDef& graph_def);

// Replaces every XlaCallModule of the graph and of its functions by a call of a new function with
// the module's ops, so that they are inlined, optimised and run as others are. A node whose module
// cannot be read or translated stays as it is, and gets an attribute `_unsupported` that says why:
// only a run that needs it fails.
void ExpandCallModules(tensorflow::GraphDef* graph_def);

}  // namespace tessera::stablehlo
