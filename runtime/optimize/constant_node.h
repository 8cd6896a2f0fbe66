// Finds and adds constants in a graph that is being rewritten.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Returns the value of `endpoint` if it is the output of a Const node, and null otherwise. A Const
// with control inputs does not count, because these may tie it to a branch or a loop of v1 control
// flow; and one that is derived from variables (derived_constants.h) does not, because its value is
// another in other sessions. The value has the dtype of the output and lives as long as the node.
const Tensor* ConstantValue(const Endpoint& endpoint);

// Like ConstantValue(), but shows derived constants too: to passes that compute from them, or look
// at their dtypes and shapes only.
const Tensor* PresentValue(const Endpoint& endpoint);

// Returns the elements of a constant tensor of int32 or int64, nullopt if `endpoint` is none.
std::optional<std::vector<int64_t>> ConstantInts(const Endpoint& endpoint);

// Returns the number under which DerivedConstants knows a derived constant; -1 for all others.
int64_t DerivedNumber(const Node& node);
void SetDerivedNumber(Node* constant, int64_t number);

// Like PresentValue(), but looks through a _ScaleWeights node: for scaled weights, returns the
// weights before they are scaled.
const Tensor* UnscaledValue(const Endpoint& weights);

// Adds a Const under a free name that starts with `name`.
absl::StatusOr<Node*> AddConstant(Graph* graph, absl::string_view name, Tensor value,
                                  absl::string_view device);

}  // namespace tessera
