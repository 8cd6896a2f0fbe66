// Builds the graph of a function from its FunctionDef.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/graph/function.h"

namespace tessera {

// Builds the body of `definition`, whose signature is `signature`, with the attributes `attrs`. The
// library of the graph is `library`, which must contain the functions that the body calls.
// Errors: INVALID_ARGUMENT naming the node.
absl::StatusOr<FunctionBody> BuildFunctionBody(const tensorflow::FunctionDef& definition,
                                               const OpDef& signature, AttrMap attrs,
                                               std::shared_ptr<const FunctionLibrary> library);

}  // namespace tessera
