// The dtype of the variable that a handle names.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Returns the dtype of the variable whose handle this endpoint is: that of the op which makes the
// handle, or, in a function that has it as an argument, that with which some op reads or writes the
// variable. Either may be behind conditions, loops and calls of functions.
// Errors: INVALID_ARGUMENT if no op tells.
absl::StatusOr<DType> DTypeOfHandle(const Graph& graph, const Endpoint& handle);

}  // namespace tessera
