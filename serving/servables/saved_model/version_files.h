// The contents of a version's path: a whole SavedModel, or weights for the graph of another one.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "serving/core/memory_budget.h"

namespace tessera::serving {

struct VersionFiles {
  // The prefix of the checkpoint with the version's weights. Empty for a SavedModel.
  std::string weights;

  bool has_graph() const { return weights.empty(); }
};

// Looks at a version's path:
//   - a directory with a saved_model.pb or .pbtxt is a SavedModel;
//   - a directory with the index of one checkpoint, in itself or in its folder `variables`, has
//     weights. Of several, the file `checkpoint` beside them must name one as the latest;
//   - a path to which ".index" must be added to get a file is the prefix of weights.
// Errors: UNIMPLEMENTED for a model of the format before SavedModel; FAILED_PRECONDITION for
// several checkpoints; NOT_FOUND otherwise.
absl::StatusOr<VersionFiles> FindVersionFiles(const std::string& path);

// Estimates the memory that the version will take, from the sizes of its files. The data of
// variables is mapped. All other files are read, and three fifths of the whole are added for packed
// weights and buffers.
// Errors: FAILED_PRECONDITION if the path is neither a directory nor a prefix of weights, NOT_FOUND
// if it is not there, PERMISSION_DENIED.
absl::StatusOr<MemoryEstimate> EstimateVersionMemory(const std::string& path);

}  // namespace tessera::serving
