// Mixed precision: matrix products and convolutions in bfloat16, everything else as it is.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Returns whether a job's precision is bfloat16. Errors: INVALID_ARGUMENT, with the nearest name,
// for one that is neither that nor float32.
absl::StatusOr<bool> UsesBfloat16(const std::string& precision);

// Lets the float products of a graph, MatMul, BatchMatMulV2 and Conv2D outside of functions,
// take and give bfloat16, between casts. Names of tensors stay. Variables stay float, and so do
// their gradients, since those of the casts convert them.
absl::Status UseBfloat16Products(Graph* graph);

}  // namespace tessera
