// Finds and adds constants in a graph that is being rewritten.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Returns the value of `endpoint` if it is the output of a Const node, and null otherwise. A Const
// with control inputs does not count, because these may tie it to a branch or a loop of v1 control
// flow. The value has the dtype of the output and lives as long as the node.
const Tensor* ConstantValue(const Endpoint& endpoint);

// Like ConstantValue(), but looks through a _ScaleWeights node: for scaled weights, returns the
// weights before they are scaled.
const Tensor* UnscaledValue(const Endpoint& weights);

// Adds a Const under a free name that starts with `name`.
absl::StatusOr<Node*> AddConstant(Graph* graph, absl::string_view name, Tensor value,
                                  absl::string_view device);

}  // namespace tessera
