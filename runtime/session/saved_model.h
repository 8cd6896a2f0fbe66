// SavedModel directories: reading, restoring, and their signatures.
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
  // What to feed or fetch: that, or what takes its place in an earlier signature that does the
  // same, so that the two share what is compiled and packed for them.
  std::string run_name;
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

struct Signature {
  std::map<std::string, SignatureTensor> inputs;   // by alias
  std::map<std::string, SignatureTensor> outputs;  // by alias
  std::string method_name;                         // "tensorflow/serving/predict", ...
  std::map<std::string, Tensor> defaults;          // values of absent inputs, by alias
  bool is_pure = false;                            // a run of it leaves the model as it was
};

// saved_model.pb (or .pbtxt) of a directory, parsed.
// Errors: NOT_FOUND if there is no such file; UNIMPLEMENTED for a session bundle, which came before
// SavedModels; DATA_LOSS if it does not parse.
absl::StatusOr<std::unique_ptr<tensorflow::SavedModel>> ReadSavedModel(
    const std::string& directory);

// Of that, the meta graph that has exactly `tags`.
// Errors: as above; NOT_FOUND if there is no such tag set, listing those there are.
absl::StatusOr<std::unique_ptr<tensorflow::MetaGraphDef>> ReadMetaGraph(
    const std::string& directory, const std::set<std::string>& tags);

// The files that a meta graph reads, in whichever of the two places it lists them.
// Errors: DATA_LOSS if the list is damaged.
absl::StatusOr<std::vector<tensorflow::AssetFileDef>> ReadAssets(
    const tensorflow::MetaGraphDef& meta_graph);

// For whoever named a model instead of one of its versions: "; name one of its versions: '1', '2'",
// or nothing if no folder in `directory` holds a SavedModel.
std::string HintAtVersions(const std::string& directory);

// A loaded model: its session with variables restored and initialised.
struct SavedModelBundle {
  std::unique_ptr<Session> session;
  std::map<std::string, Signature> signatures;
  std::unique_ptr<tensorflow::MetaGraphDef> meta_graph;  // without its graph_def
  std::string directory;
  // What loading went through, and how long each took: "read", "import", "compile", and those of
  // "restore_graph", "init_graph" (TensorFlow's names) and "freeze" that there was need for.
  std::vector<std::pair<std::string, absl::Duration>> stages;
};

// Reads, imports, restores through the graph's own RestoreV2 with a mapped checkpoint, runs the
// init op with assets fed, and keeps the signatures.
// Errors: those of ReadMetaGraph(), Session::Extend(), the checkpoint reader (DATA_LOSS with file
// and tensor), and UNIMPLEMENTED listing all ops without a kernel that some signature needs.
absl::StatusOr<SavedModelBundle> LoadSavedModel(const std::string& directory,
                                                const std::set<std::string>& tags,
                                                const SessionOptions& options);

}  // namespace tessera
