// Constants in a graph that is being rewritten.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/graph/graph.h"

namespace tessera {

// The value of an output that is the same in every run: of a Const without control inputs, which
// would tie it to a branch or a loop of v1. It has the output's dtype. Null for other outputs.
// Lives as long as the node.
const Tensor* ConstantValue(const Endpoint& endpoint);

// The same of weights, also of those that a _ScaleWeights multiplies by a constant: what it
// multiplies.
const Tensor* UnscaledValue(const Endpoint& weights);

// Adds a Const under a free name that starts with `name`.
absl::StatusOr<Node*> AddConstant(Graph* graph, absl::string_view name, Tensor value,
                                  absl::string_view device);

}  // namespace tessera
