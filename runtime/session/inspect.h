// Finds out what is in models, checkpoints and graphs, for people and programs that ask before a
// server does.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session/graph_census.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// An input or an output of a signature, by its alias.
struct InspectedTensor {
  std::string alias;
  DType dtype = DType::kInvalid;
  // Unknown as well if the model tells none or a malformed one.
  PartialShape shape;
  // The tensor in the graph, "x:0"; for sparse and composite ones a description.
  std::string place;
  bool has_default = false;
};

struct InspectedSignature {
  std::string name;
  std::string method_name;
  std::vector<InspectedTensor> inputs, outputs;  // by alias
};

struct InspectedMetaGraph {
  std::vector<std::string> tags;
  std::string tensorflow_version;              // which wrote it; may be empty
  std::vector<InspectedSignature> signatures;  // by name
  GraphCensus census;
  absl::Status load;  // the result of loading it on trial
  // Assets by file name, with the tensors that their paths are fed to.
  std::vector<std::pair<std::string, std::string>> assets;
};

struct InspectedVariable {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  std::optional<int64_t> bytes;  // none for strings and other elements of no fixed size
  bool in_slices = false;
};

struct InspectedCheckpoint {
  std::string prefix;
  std::vector<InspectedVariable> variables;  // by name
  // The sum of what is known.
  int64_t bytes = 0;
};

// A GraphDef alone.
struct InspectedGraph {
  int producer = 0;  // the version of the format
  std::vector<std::pair<std::string, DType>> placeholders;
  GraphCensus census;
};

// One of three: a SavedModel, which has meta graphs, and a checkpoint if it has variables; a
// checkpoint; or a graph.
struct Inspection {
  enum class Kind { kSavedModel, kCheckpoint, kGraph };

  Kind kind = Kind::kSavedModel;
  std::string path;
  std::vector<InspectedMetaGraph> meta_graphs;
  std::optional<InspectedCheckpoint> checkpoint;
  std::optional<InspectedGraph> graph;
};

// Tries to load the meta graph of a SavedModel that has these tags.
using TrialLoadFunction = absl::FunctionRef<absl::Status(const std::string& directory,
                                                         const std::set<std::string>& tags)>;

// Inspects the files at `path`: a SavedModel's directory, a checkpoint (its prefix, or a directory
// with one), or a file with a GraphDef, binary or text. `load` is called for each meta graph of a
// SavedModel, to see whether whoever will use it can load it. Errors: NOT_FOUND if there are no
// such files; DATA_LOSS for damaged ones.
absl::StatusOr<Inspection> Inspect(const std::string& path, TrialLoadFunction load);

// Returns why what was inspected cannot be served or run: the error of the load that failed, or
// FAILED_PRECONDITION if an op has no kernel. OK for a checkpoint.
absl::Status Usability(const Inspection& inspection);

}  // namespace tessera
