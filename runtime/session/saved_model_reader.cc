// Reading a SavedModel's directory: which file, which meta graph.
#include <climits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera {
namespace {

// Keeps the parser of text quiet: what it has to say goes into the status.
class ErrorText final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int /*column*/, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::Status ReadBinary(const std::string& path, tensorflow::SavedModel* saved_model) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  google::protobuf::io::ArrayInputStream stream(file->data(), static_cast<int>(file->size()));
  if (file->size() <= INT_MAX && saved_model->ParseFromZeroCopyStream(&stream)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat(path, " is not a SavedModel: it is damaged, or was cut short"));
}

absl::Status ReadText(const std::string& path, tensorflow::SavedModel* saved_model) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  google::protobuf::TextFormat::Parser parser;
  ErrorText errors;
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(text, saved_model)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, " is not a SavedModel: ", errors.text()));
}

std::string TagsText(const std::set<std::string>& tags) {
  return absl::StrCat("{ ", absl::StrJoin(tags, ", "), " }");
}

}  // namespace

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
      directory, " does not contain a SavedModel: neither saved_model.pb nor saved_model.pbtxt"));
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
  return absl::NotFoundError(absl::StrCat(
      directory, " has no meta graph with the tags ", TagsText(tags), " (there ",
      there.size() == 1 ? "is: " : "are: ", there.empty() ? "none" : absl::StrJoin(there, ", "),
      ")"));
}

}  // namespace tessera
