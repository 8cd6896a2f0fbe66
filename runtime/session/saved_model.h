// Reads and loads SavedModel directories.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/session/session.h"

namespace tensorflow {
class AssetFileDef;
class MetaGraphDef;
class SavedModel;
}  // namespace tensorflow

namespace tessera {

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
  bool is_pure = false;                            // whether its runs change nothing, see PureRuns
};

// Parses saved_model.pb, or saved_model.pbtxt, of a directory.
// Errors: NOT_FOUND if there is no such file; UNIMPLEMENTED for a session bundle, which came before
// SavedModels; DATA_LOSS if it does not parse.
absl::StatusOr<std::unique_ptr<tensorflow::SavedModel>> ReadSavedModel(
    const std::string& directory);

// Returns the meta graph of the SavedModel that has exactly the tags `tags`.
// Errors: those of ReadSavedModel(); NOT_FOUND, listing the tag sets that there are.
absl::StatusOr<std::unique_ptr<tensorflow::MetaGraphDef>> ReadMetaGraph(
    const std::string& directory, const std::set<std::string>& tags);

// Returns the asset files that a meta graph reads. Old writers list them in a collection, newer
// ones in a field. Errors: DATA_LOSS if the list is damaged.
absl::StatusOr<std::vector<tensorflow::AssetFileDef>> ReadAssets(
    const tensorflow::MetaGraphDef& meta_graph);

// Returns a hint for an error message, for users who named the folder of a model instead of one of
// its versions: "; name one of its versions: '1', '2'". Empty if no folder in `directory` holds a
// SavedModel.
std::string HintAtVersions(const std::string& directory);

// A loaded model. The variables of its session are restored and initialised.
struct SavedModelBundle {
  std::unique_ptr<Session> session;
  std::map<std::string, Signature> signatures;
  std::unique_ptr<tensorflow::MetaGraphDef> meta_graph;  // without its graph_def
  std::string directory;
  // The stages of loading and their durations: "read", "import" and "compile" always, and
  // "restore_graph", "init_graph" (which are TensorFlow's names) and "freeze" where they were
  // needed.
  std::vector<std::pair<std::string, absl::Duration>> stages;
};

// Imports the meta graph, restores its variables by the graph's own RestoreV2 nodes, which map the
// checkpoint, runs its init op with the assets fed, and compiles its signatures.
// Errors: those of ReadMetaGraph() and Session::Extend(); DATA_LOSS with file and tensor from the
// checkpoint reader; UNIMPLEMENTED listing all ops without a kernel that some signature needs.
absl::StatusOr<SavedModelBundle> LoadSavedModel(const std::string& directory,
                                                const std::set<std::string>& tags,
                                                const SessionOptions& options);

}  // namespace tessera
