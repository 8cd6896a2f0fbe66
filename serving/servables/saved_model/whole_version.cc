#include "serving/servables/saved_model/whole_version.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_files.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera::serving {
namespace {

constexpr off_t kMaxGraphBytes = 64 << 20;

// The collection in which TensorFlow 1 lists assets.
constexpr char kAssetCollection[] = "saved_model_assets";

bool HasAssets(const tensorflow::MetaGraphDef& meta_graph) {
  return meta_graph.asset_file_def_size() > 0 ||
         meta_graph.collection_def().contains(kAssetCollection);
}

}  // namespace

bool IsWholeVersion(const std::string& path) {
  const std::string graph_path = JoinPath(path, "saved_model.pb");
  struct stat info;
  // A pipe in the file's place would hold up the reader.
  if (stat(graph_path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_size > kMaxGraphBytes) return false;
  const bool has_variables = FileExists(JoinPath(path, "variables"));
  bool has_holes = false;  // which a copy may still fill
  if (has_variables &&
      (!CheckCheckpointFiles(JoinPath(path, "variables/variables"), &has_holes).ok() ||
       has_holes)) {
    return false;
  }
  const absl::StatusOr<std::string> text = ReadFile(graph_path);
  tensorflow::SavedModel model;
  if (!text.ok() || !model.ParseFromString(*text) || model.meta_graphs().empty()) return false;
  return std::all_of(model.meta_graphs().begin(), model.meta_graphs().end(),
                     [&](const tensorflow::MetaGraphDef& meta_graph) {
                       const bool needs_variables = meta_graph.has_saver_def();
                       return !HasAssets(meta_graph) && (has_variables || !needs_variables);
                     });
}

}  // namespace tessera::serving
