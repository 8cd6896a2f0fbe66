// SavedModelGraph: a SavedModel without the values of its variables.
//
//   ASSIGN_OR_RETURN(auto graph, ImportSavedModel("/models/resnet/1", {"serve"}, &stages));
//   ASSIGN_OR_RETURN(auto first, LoadSavedModel(graph, options));         // with its own values
//   ASSIGN_OR_RETURN(auto next, LoadWeights(graph, "/train/ckpt-17", options));  // with others
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/prune.h"
#include "runtime/session/load_stages.h"
#include "runtime/tensor/tensor.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace tessera {

class KeptPlans;  // runtime/exec/kept_plans.h

// One input or output of a signature.
struct SignatureTensor {
  std::string tensor_name;  // "node:index" in the graph
  // The tensor to feed or fetch: `tensor_name`, or its counterpart in an earlier signature that
  // computes the same. Two such signatures share one compiled program and its packed weights.
  std::string run_name;
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

struct Signature {
  std::map<std::string, SignatureTensor> inputs;   // by alias
  std::map<std::string, SignatureTensor> outputs;  // by alias
  std::string method_name;                         // "tensorflow/serving/predict", ...
  std::map<std::string, Tensor> defaults;          // values of absent inputs, by alias
  bool is_pure = false;                            // whether its runs change nothing, see RunTraits
  bool is_open_ended = false;  // whether values or others decide how long they take, see RunTraits

  // The run that computes all outputs from all inputs.
  RunSignature Run() const;
};

// The state that sessions with different weights share. Immutable and thread-safe.
struct SavedModelGraph {
  std::string directory;  // the SavedModel's own; has the assets
  std::shared_ptr<const tensorflow::MetaGraphDef> meta_graph;  // without its graph_def
  std::shared_ptr<const Graph> graph;
  std::map<std::string, Signature> signatures;
  // The node to run once the variables have values; empty if there is none.
  std::string init_node;
  // Nodes of ops that neither the registry nor the graph's library knows.
  absl::flat_hash_set<std::string> unknown_nodes;
  // The object graph of its own variables, serialised. Empty for a name-based checkpoint, for one
  // that cannot be read, and for a model without variables.
  std::string object_graph;
  // The plans that sessions on `graph` have made for the signatures. Never null.
  std::shared_ptr<KeptPlans> plans;
};

// Reads and imports the meta graph of a SavedModel that has exactly the tags `tags`. Adds the
// stages "read" and "import" to *stages.
// Errors: those of ReadMetaGraph() and ImportGraph(); INVALID_ARGUMENT for a damaged signature.
absl::StatusOr<std::shared_ptr<const SavedModelGraph>> ImportSavedModel(
    const std::string& directory, const std::set<std::string>& tags, LoadStages* stages);

// Returns the prefix of the variables that a SavedModel has in its directory.
std::string VariablesPrefix(const std::string& directory);

// Returns the name of the node of a tensor "node:index".
std::string NodeOf(absl::string_view tensor_name);

}  // namespace tessera
