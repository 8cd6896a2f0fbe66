// Reading a SavedModel's directory: which file, which meta graph.
#include <climits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "runtime/base/file_system.h"
#include "runtime/base/proto_text.h"
#include "runtime/base/status.h"
#include "runtime/host/mapped_file.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera {
namespace {

absl::Status ReadBinary(const std::string& path, tensorflow::SavedModel* saved_model) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  google::protobuf::io::ArrayInputStream stream(file->data(), static_cast<int>(file->size()));
  if (file->size() <= INT_MAX && saved_model->ParseFromZeroCopyStream(&stream)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      path,
      " is not a SavedModel: it is damaged, or was cut short; copy or export the model anew"));
}

absl::Status ReadText(const std::string& path, tensorflow::SavedModel* saved_model) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  return Annotate(ParseProtoText(std::string(file->data(), file->size()), saved_model),
                  absl::StrCat(path, " is not a SavedModel: "));
}

std::string TagsText(const std::set<std::string>& tags) {
  return absl::StrCat("{ ", absl::StrJoin(tags, ", "), " }");
}

}  // namespace

bool HoldsSavedModel(const std::string& directory) {
  return FileExists(JoinPath(directory, "saved_model.pb")) ||
         FileExists(JoinPath(directory, "saved_model.pbtxt"));
}

absl::StatusOr<std::unique_ptr<tensorflow::SavedModel>> ReadSavedModel(
    const std::string& directory) {
  auto saved_model = std::make_unique<tensorflow::SavedModel>();
  const std::string binary = JoinPath(directory, "saved_model.pb");
  const std::string text = JoinPath(directory, "saved_model.pbtxt");
  if (FileExists(binary)) {
    RETURN_IF_ERROR(ReadBinary(binary, saved_model.get()));
    return saved_model;
  }
  if (FileExists(text)) {
    RETURN_IF_ERROR(ReadText(text, saved_model.get()));
    return saved_model;
  }
  if (FileExists(JoinPath(directory, "export.meta"))) {
    return absl::UnimplementedError(absl::StrCat(
        directory,
        " holds a session bundle (export.meta), the format before SavedModel: export the "
        "model again as a SavedModel"));
  }
  return absl::NotFoundError(absl::StrCat(
      directory, " does not contain a SavedModel: neither saved_model.pb nor saved_model.pbtxt",
      HintAtVersions(directory)));
}

absl::StatusOr<std::unique_ptr<tensorflow::MetaGraphDef>> ReadMetaGraph(
    const std::string& directory, const std::set<std::string>& tags) {
  ASSIGN_OR_RETURN(const std::unique_ptr<tensorflow::SavedModel> saved_model,
                   ReadSavedModel(directory));
  std::vector<std::string> there;
  for (tensorflow::MetaGraphDef& meta_graph : *saved_model->mutable_meta_graphs()) {
    const auto& of_graph = meta_graph.meta_info_def().tags();
    const std::set<std::string> graph_tags(of_graph.begin(), of_graph.end());
    if (graph_tags != tags) {
      there.push_back(TagsText(graph_tags));
      continue;
    }
    auto result = std::make_unique<tensorflow::MetaGraphDef>();
    result->Swap(&meta_graph);
    return result;
  }
  if (there.empty()) {
    return absl::NotFoundError(absl::StrCat(
        directory,
        " holds a SavedModel without any meta graph, as a file that was not written to "
        "its end does; export or copy it again"));
  }
  return absl::NotFoundError(
      absl::StrCat(directory, " has no meta graph with the tags ", TagsText(tags), " (there ",
                   there.size() == 1 ? "is: " : "are: ", absl::StrJoin(there, ", "),
                   "); --saved_model_tags, or --tags of other commands, chooses"));
}

absl::StatusOr<std::vector<tensorflow::AssetFileDef>> ReadAssets(
    const tensorflow::MetaGraphDef& meta_graph) {
  std::vector<tensorflow::AssetFileDef> assets(meta_graph.asset_file_def().begin(),
                                               meta_graph.asset_file_def().end());
  // Where writers before TensorFlow 2 list them.
  constexpr char kCollection[] = "saved_model_assets";
  auto it = meta_graph.collection_def().find(kCollection);
  if (!assets.empty() || it == meta_graph.collection_def().end()) return assets;
  for (const google::protobuf::Any& any : it->second.any_list().value()) {
    if (!any.UnpackTo(&assets.emplace_back())) {
      return absl::DataLossError(absl::StrCat("the collection ", kCollection, " is damaged"));
    }
  }
  return assets;
}

std::string HintAtVersions(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> children = ListDirectory(directory);
  if (!children.ok()) return "";
  std::vector<std::string> versions;
  for (const std::string& child : *children) {
    if (HoldsSavedModel(JoinPath(directory, child))) versions.push_back(child);
  }
  if (versions.empty()) return "";
  return absl::StrCat("; name one of its versions: '", absl::StrJoin(versions, "', '"), "'");
}

}  // namespace tessera
