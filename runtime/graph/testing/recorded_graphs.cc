#include "runtime/graph/testing/recorded_graphs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "runtime/base/logging.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// tests/data as it lies in the repository: what a test sees of it are links to there.
fs::path TestData() {
  return fs::canonical("tests/data/golden/graphs/fn_nested.pb").parent_path() / "../..";
}

fs::path DataRoot() {
  if (const char* shared = std::getenv("TESSERA_SHARED"); shared != nullptr) return shared;
  const fs::path beside = TestData() / "../../../shared";
  return fs::exists(beside / "golden/graphs") ? beside : TestData();
}

std::vector<std::string> FilesUnder(const fs::path& root, absl::string_view suffix) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (absl::EndsWith(entry.path().string(), suffix)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> RecordedGraphFiles() {
  return FilesUnder(DataRoot() / "golden/graphs", ".pb");
}

std::vector<std::string> RecordedModelFiles() {
  return FilesUnder(DataRoot() / "models", "saved_model.pb");
}

tensorflow::GraphDef ReadRecordedGraph(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  tensorflow::GraphDef graph_def;
  if (absl::EndsWith(path, "saved_model.pb")) {
    tensorflow::SavedModel model;
    CHECK(model.ParseFromIstream(&file) && model.meta_graphs_size() > 0) << "cannot read " << path;
    graph_def.Swap(model.mutable_meta_graphs(0)->mutable_graph_def());
  } else {
    CHECK(graph_def.ParseFromIstream(&file)) << "cannot read " << path;
  }
  return graph_def;
}

}  // namespace tessera
