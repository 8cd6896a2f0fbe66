// Recognises the activations that a fused product can apply to its output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/graph.h"

namespace tessera {

// Returns the name by which the attribute `fused_ops` calls the op of this node, such as "Relu" or
// "GeluExact". Empty if the node is no such activation.
std::string FusedActivation(const Node& node);

// The nodes that compute x * sigmoid(x), the activation "Swish", of the output x of a node.
struct Swish {
  Node* product = nullptr;
  std::vector<Node*> gate;  // between x and the product, in order
};
// Recognises a swish of the only output of `x`, whose sigmoid may take 1 * x. nullopt if there is
// none, if nodes outside of it use x or one of its intermediate values, or if it is not of float.
std::optional<Swish> SwishOf(const Node& x);

// Sets the attributes of the fused op that belong to the activation.
void SetActivationAttrs(const Node& activation, AttrMap* attrs);

}  // namespace tessera
