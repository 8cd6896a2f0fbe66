// Converts the body of a function to a tensorflow.FunctionDef.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace tensorflow {
class FunctionDef;
}  // namespace tensorflow

namespace tessera {

// A function that is to be exported: all nodes of `graph` but the `_Arg` and `_Retval` nodes become
// the nodes of its definition.
struct FunctionExport {
  std::string name;
  const Graph* graph = nullptr;
  std::vector<Node*> args;     // `_Arg` nodes, in the order of the arguments
  std::vector<Node*> results;  // `_Retval` nodes
  std::vector<Node*> control_results;
};

// Overwrites *definition with a function that FunctionLibrary::Instantiate() makes an equal body
// of. Errors: INVALID_ARGUMENT for inputs that are not connected.
absl::Status ExportFunction(const FunctionExport& function, tensorflow::FunctionDef* definition);

}  // namespace tessera
