// Activations that a fused product can apply to what it stores.
#pragma once

#include <string>

#include "runtime/graph/graph.h"

namespace tessera {

// What `fused_ops` calls this node's op: "Relu", "GeluExact"; empty if it is no such activation.
std::string FusedActivation(const Node& node);
// Sets the attributes of the fused op that belong to the activation.
void SetActivationAttrs(const Node& activation, AttrMap* attrs);

}  // namespace tessera
