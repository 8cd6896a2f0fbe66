#include "tests/random_cases/run_case.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/framework/op.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/tensor/tensor_proto.h"
#include "tests/conformance/shape_facts.h"

namespace tessera {
namespace {

// An empty folder that is the working directory as long as this lives.
class WorkingFolder {
 public:
  WorkingFolder() : before_(std::filesystem::current_path()) {
    std::string path = (std::filesystem::temp_directory_path() / "tessera_case_XXXXXX").string();
    CHECK(::mkdtemp(path.data()) != nullptr) << "cannot make " << path;
    folder_ = path;
    std::filesystem::current_path(folder_);
  }
  ~WorkingFolder() {
    std::filesystem::current_path(before_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  const std::filesystem::path before_;
  std::filesystem::path folder_;
};

struct Case {
  tensorflow::GraphDef graph;  // with placeholders for what is fed
  std::vector<NamedTensor> feeds;
  std::vector<std::string> fetches, targets;
};

std::vector<std::string> Strings(const tensorflow::NodeDef& node, const char* attr) {
  const auto it = node.attr().find(attr);
  if (it == node.attr().end()) return {};
  return {it->second.list().s().begin(), it->second.list().s().end()};
}

absl::StatusOr<Case> ReadCase(const tensorflow::GraphDef& graph) {
  Case read;
  *read.graph.mutable_versions() = graph.versions();
  *read.graph.mutable_library() = graph.library();
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (node.name() == "plan") {
      read.fetches = Strings(node, "_fetch");
      read.targets = Strings(node, "_target");
      continue;
    }
    tensorflow::NodeDef* const copy = read.graph.add_node();
    if (!absl::StartsWith(node.name(), "in")) {
      *copy = node;
      continue;
    }
    ASSIGN_OR_RETURN(Tensor value, TensorFromProto(node.attr().at("value").tensor()));
    copy->set_name(node.name());
    copy->set_op("Placeholder");
    AttrMapToProto({{"dtype", value.dtype()}, {"shape", PartialShape()}}, copy->mutable_attr());
    read.feeds.emplace_back(absl::StrCat(node.name(), ":0"), std::move(value));
  }
  return read;
}

absl::Status Run(const Case& read, const SessionOptions& options,
                 std::vector<NamedTensor>* outputs) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(options));
  RETURN_IF_ERROR(session->Extend(read.graph));
  RunOptions run_options;
  run_options.timeout = options.default_timeout;
  std::vector<Tensor> values;
  RETURN_IF_ERROR(session->Run(run_options, read.feeds, read.fetches, read.targets, &values));
  for (size_t i = 0; i < values.size(); ++i) {
    outputs->emplace_back(read.fetches[i], std::move(values[i]));
  }
  return absl::OkStatus();
}

}  // namespace

CaseResult RunCase(const tensorflow::GraphDef& graph, const SessionOptions& options) {
  const WorkingFolder folder;
  CaseResult result;
  const absl::StatusOr<Case> read = ReadCase(graph);
  result.status = read.ok() ? Run(*read, options, &result.outputs) : read.status();
  return result;
}

std::string FirstShapeContradiction(const tensorflow::GraphDef& graph,
                                    const std::vector<NamedTensor>& outputs) {
  // Constants count as fed.
  GoldenCase golden;
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (node.op() != "Const") continue;
    absl::StatusOr<Tensor> value = TensorFromProto(node.attr().at("value").tensor());
    if (value.ok()) golden.feeds.emplace_back(absl::StrCat(node.name(), ":0"), *std::move(value));
  }
  for (const tensorflow::NodeDef& node : graph.node()) {
    const OpDef* const op = OpRegistry::Global().Find(node.op());
    absl::StatusOr<AttrMap> attrs = AttrMapFromProto(node.attr());
    if (op == nullptr || !attrs.ok() || !CompleteAttrs(*op, &*attrs).ok()) continue;
    const bool all_known = std::all_of(node.input().begin(), node.input().end(), [&](auto& input) {
      return std::any_of(golden.feeds.begin(), golden.feeds.end(), [&](const NamedTensor& feed) {
        return feed.first == absl::StrCat(input, ":0");
      });
    });
    const absl::StatusOr<std::vector<DType>> types = OutputTypes(*op, *attrs);
    if (!all_known || !types.ok() || node.name() == "plan") continue;
    golden.targets = {node.name()};
    *golden.graph.mutable_node()->Add() = node;
    golden.expectations.resize(types->size());
    bool has_output = false;
    for (size_t i = 0; i < types->size(); ++i) {
      golden.expectations[i].want.reset();
      for (const auto& [name, value] : outputs) {
        if (name != absl::StrCat(node.name(), ":", i)) continue;
        golden.expectations[i].want = value;
        has_output = true;
      }
    }
    if (!has_output) continue;
    const std::string contradiction = ShapeContradiction(golden);
    if (!contradiction.empty()) return absl::StrCat(node.op(), ": ", contradiction);
  }
  return "";
}

}  // namespace tessera
