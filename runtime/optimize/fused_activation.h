// Recognises the activations that a fused product can apply to its output.
#pragma once

#include <string>

#include "runtime/graph/graph.h"

namespace tessera {

// Returns the name by which the attribute `fused_ops` calls the op of this node, such as "Relu" or
// "GeluExact". Empty if the node is no such activation.
std::string FusedActivation(const Node& node);
// Sets the attributes of the fused op that belong to the activation.
void SetActivationAttrs(const Node& activation, AttrMap* attrs);

}  // namespace tessera
