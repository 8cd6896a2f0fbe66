// Finds the variables that a graph restores from a checkpoint, and the keys that they have there.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/graph/graph.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A variable and what its graph restores it from.
struct RestoredVariable {
  std::string key;
  std::string shape_and_slice;  // empty: the whole tensor
  std::string resource;         // see ResourceNames()
  std::string container, name;
  absl::string_view type_name;  // Variable::kTypeName or kRefTypeName
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

// Returns the variables that a run of `restore_node`, such as the restore op of a saver, assigns
// tensors of a checkpoint to; one of them for each key. Follows calls of functions. Tables that the
// run fills, such as the vocabulary of a layer, are passed over if `but_tables`.
// Errors: NOT_FOUND if there is no such node; UNIMPLEMENTED if the run does more than that.
absl::StatusOr<std::vector<RestoredVariable>> FindRestoredVariables(const Graph& graph,
                                                                    const std::string& restore_node,
                                                                    bool but_tables = false);

// Returns the variable of a VarHandleOp, VariableV2 or Variable node, without what it is restored
// from.
absl::StatusOr<RestoredVariable> VariableOf(const Node& handle);

// Two variables of a graph, the second of which starts with the value of the first. Keras 3 has
// such pairs where tf.saved_model.save() saves its weights: the signatures read the originals.
struct CopiedVariable {
  RestoredVariable original, copy;  // without keys
};
absl::StatusOr<std::vector<CopiedVariable>> FindCopiedVariables(const Graph& graph);

}  // namespace tessera
