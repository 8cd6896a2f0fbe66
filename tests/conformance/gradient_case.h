// Gradients that TensorFlow recorded: the files of gradient_recording.py.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// One case of a file.
struct GradientCase {
  std::shared_ptr<const Graph> graph;  // with all cases of the file
  std::string description;             // the node that describes the case
  std::string name;                    // FILE/NUMBER and the ops that are differentiated
};

// Returns the cases of all files in a directory. Errors: DATA_LOSS if one does not parse; those of
// the import.
absl::StatusOr<std::vector<GradientCase>> FindGradientCases(const std::string& directory);

// Lets AddGradients() differentiate the case, runs the graph and compares. Returns the first
// difference in words, or the error; an empty string if there is none.
std::string CheckGradients(const GradientCase& gradient_case);

}  // namespace tessera
