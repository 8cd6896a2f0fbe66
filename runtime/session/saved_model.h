// Reads and loads SavedModel directories.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/load_stages.h"
#include "runtime/session/saved_model_graph.h"
#include "runtime/session/session.h"

namespace tensorflow {
class AssetFileDef;
class MetaGraphDef;
class SavedModel;
}  // namespace tensorflow

namespace tessera {

// Returns whether a directory has a saved_model.pb or saved_model.pbtxt.
bool HoldsSavedModel(const std::string& directory);

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
  std::shared_ptr<const tensorflow::MetaGraphDef> meta_graph;  // without its graph_def
  // The graph that it shares with other bundles; null for a bundle that was not loaded from files.
  std::shared_ptr<const SavedModelGraph> graph;
  // The stages of loading and their durations: "read" and "import" if the graph was imported for
  // this bundle; "restore_graph", "init_graph" (which are TensorFlow's names) and "freeze" where
  // they were needed; and "compile", or, if all that this bundle runs was planned before for other
  // weights, "prepare", in which kernels are made and weights are packed.
  LoadStages stages;
};

// Restores the variables of a graph by its own RestoreV2 nodes, which map the checkpoint beside it,
// runs its init op with the assets fed, and compiles its signatures.
// Errors: those of Session::Create(); DATA_LOSS with file and tensor from the checkpoint reader;
// UNIMPLEMENTED listing all ops without a kernel that some signature needs.
absl::StatusOr<SavedModelBundle> LoadSavedModel(std::shared_ptr<const SavedModelGraph> graph,
                                                const SessionOptions& options);

// The same with the variables of another checkpoint, which RestoreWeights() finds there. The files
// of the SavedModel are needed no more, but for assets that its init op reads.
// Errors: those of RestoreWeights() and LoadSavedModel().
absl::StatusOr<SavedModelBundle> LoadWeights(std::shared_ptr<const SavedModelGraph> graph,
                                             const std::string& prefix,
                                             const SessionOptions& options);

// Imports the SavedModel of a directory and loads it.
// Errors: those of ImportSavedModel() and LoadSavedModel().
absl::StatusOr<SavedModelBundle> LoadSavedModel(const std::string& directory,
                                                const std::set<std::string>& tags,
                                                const SessionOptions& options);

}  // namespace tessera
