// Turns a FunctionDef into a graph.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/graph/function.h"

namespace tessera {

// The body of `definition`, whose signature is `signature`, for `attrs`. The graph gets `library`,
// which must hold the functions that the body calls.
// Errors: INVALID_ARGUMENT naming the node.
absl::StatusOr<FunctionBody> BuildFunctionBody(const tensorflow::FunctionDef& definition,
                                               const OpDef& signature, AttrMap attrs,
                                               std::shared_ptr<const FunctionLibrary> library);

}  // namespace tessera
