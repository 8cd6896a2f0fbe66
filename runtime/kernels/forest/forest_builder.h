// Turns the files of a model into a Forest.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/kernels/forest/forest.h"
#include "runtime/kernels/forest/forest_files.h"

namespace tessera {

// Calls `add_leaf(node)` for each leaf in the order of their numbers.
// Errors: DATA_LOSS for trees that are cut short or ask what no column answers; UNIMPLEMENTED for
// columns and questions on sequences of vectors; those of `add_leaf` and of the files.
absl::StatusOr<Forest> BuildForest(const ForestFiles& files,
                                   absl::FunctionRef<absl::Status(const TreeNode& leaf)> add_leaf);

}  // namespace tessera
