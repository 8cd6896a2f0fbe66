#include "tests/conformance/golden_corpus.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/tensor/tensor_proto.h"

namespace tessera {
namespace {

std::string BaseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (absl::EndsWith(name, ".pb")) name.resize(name.size() - 3);
  return name;
}

// A folder of this process, which goes with it unless the process ends without destructors.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_((std::filesystem::temp_directory_path() / "tessera_golden_XXXXXX").string()) {
    CHECK(::mkdtemp(path_.data()) != nullptr) << "cannot make " << path_;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The files that recorded pipelines write and read; they go to a folder of this process, so that
// two replays at once do not meet.
void MoveFiles(tensorflow::NodeDef* node) {
  static const TemporaryFolder folder;
  constexpr absl::string_view kRecordedAs = "/tmp/tessera_pipeline_";
  const auto value = node->mutable_attr()->find("value");
  if (value == node->mutable_attr()->end() || !value->second.has_tensor()) return;
  for (std::string& text : *value->second.mutable_tensor()->mutable_string_val()) {
    if (absl::StartsWith(text, kRecordedAs)) {
      text = absl::StrCat(folder.path(), "/", text.substr(kRecordedAs.size()));
    }
  }
}

absl::StatusOr<tensorflow::GraphDef> ReadGraphDef(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  tensorflow::GraphDef graph;
  if (!graph.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a GraphDef"));
  }
  for (tensorflow::NodeDef& node : *graph.mutable_node()) MoveFiles(&node);
  for (tensorflow::FunctionDef& function : *graph.mutable_library()->mutable_function()) {
    for (tensorflow::NodeDef& node : *function.mutable_node_def()) MoveFiles(&node);
  }
  return graph;
}

absl::StatusOr<Tensor> ConstValue(const tensorflow::NodeDef& node) {
  auto it = node.attr().find("value");
  if (it == node.attr().end()) {
    return absl::InvalidArgumentError(absl::StrCat("'", node.name(), "' has no value"));
  }
  return TensorFromProto(it->second.tensor());
}

std::string StringAttr(const tensorflow::NodeDef& node, const char* name) {
  auto it = node.attr().find(name);
  return it == node.attr().end() ? "" : it->second.s();
}

Tolerance ToleranceOf(const tensorflow::NodeDef& node) {
  Tolerance tolerance;
  auto rtol = node.attr().find("_rtol");
  if (rtol != node.attr().end()) tolerance.rtol = rtol->second.f();
  auto atol = node.attr().find("_atol");
  if (atol != node.attr().end()) tolerance.atol = atol->second.f();
  return tolerance;
}

// Adds input `node` of a call, a constant, as a placeholder that is fed its value.
absl::Status AddInput(const tensorflow::NodeDef& node, GoldenCase* golden) {
  for (const tensorflow::NodeDef& other : golden->graph.node()) {
    if (other.name() == node.name()) return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor value, ConstValue(node));
  tensorflow::NodeDef* const placeholder = golden->graph.add_node();
  placeholder->set_name(node.name());
  placeholder->set_op("Placeholder");
  (*placeholder->mutable_attr())["dtype"] = node.attr().at("dtype");
  (*placeholder->mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
  golden->feeds.emplace_back(absl::StrCat(node.name(), ":0"), std::move(value));
  return absl::OkStatus();
}

// How many outputs a node has; -1 if its op is unknown.
int CountOutputs(const tensorflow::GraphDef& graph, const std::string& name) {
  const tensorflow::NodeDef* node = nullptr;
  for (const tensorflow::NodeDef& candidate : graph.node()) {
    if (candidate.name() == name) node = &candidate;
  }
  const OpDef* op = node == nullptr ? nullptr : OpRegistry::Global().Find(node->op());
  if (op == nullptr) return -1;
  int count = 0;
  for (const ArgDef& output : op->outputs) {
    auto attr = [&](const std::string& attr_name) -> const tensorflow::AttrValue* {
      auto it = node->attr().find(attr_name);
      return it == node->attr().end() ? nullptr : &it->second;
    };
    if (!output.number_attr.empty()) {
      const tensorflow::AttrValue* number = attr(output.number_attr);
      count += number == nullptr ? 0 : static_cast<int>(number->i());
    } else if (!output.type_list_attr.empty()) {
      const tensorflow::AttrValue* types = attr(output.type_list_attr);
      count += types == nullptr ? 0 : types->list().type_size();
    } else {
      ++count;
    }
  }
  return count;
}

}  // namespace

std::vector<std::string> GoldenFiles(const std::string& data, const std::string& kind) {
  std::vector<std::string> files;
  for (const char* folder : {"golden", "golden/made"}) {
    const std::string path = JoinPath(JoinPath(data, folder), kind);
    const auto entries = ListDirectory(path);
    CHECK(entries.ok()) << entries.status();
    for (const std::string& entry : *entries) {
      if (absl::EndsWith(entry, ".pb")) files.push_back(JoinPath(path, entry));
    }
  }
  return files;
}

absl::StatusOr<std::vector<GoldenCase>> ReadOpCases(const std::string& path) {
  ASSIGN_OR_RETURN(const tensorflow::GraphDef file, ReadGraphDef(path));
  std::map<int, GoldenCase> cases;
  std::map<std::string, const tensorflow::NodeDef*> inputs;
  std::map<int, std::map<int, const tensorflow::NodeDef*>> outputs;
  for (const tensorflow::NodeDef& node : file.node()) {
    const std::vector<std::string> parts = absl::StrSplit(node.name(), '/');
    int number;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": node '", node.name(), "' is not part of a recorded call"));
    }
    GoldenCase& golden = cases[number];
    if (parts[1] == "op") {
      *golden.graph.add_node() = node;
      golden.error = StringAttr(node, "_error");
    } else if (absl::StartsWith(parts[1], "in")) {
      inputs[node.name()] = &node;
    } else if (absl::StartsWith(parts[1], "out")) {
      int index;
      if (!absl::SimpleAtoi(parts[1].substr(3), &index)) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": node '", node.name(), "'"));
      }
      outputs[number][index] = &node;
    }
  }
  std::vector<GoldenCase> result;
  for (auto& [number, golden] : cases) {
    golden.group = BaseName(path);
    golden.name = absl::StrCat(number);
    *golden.graph.mutable_versions() = file.versions();
    const std::string op = absl::StrCat(number, "/op");
    golden.targets.push_back(op);
    const tensorflow::NodeDef* op_node = nullptr;
    for (const tensorflow::NodeDef& node : golden.graph.node()) {
      if (node.name() == op) op_node = &node;
    }
    if (op_node == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": there is no node '", op, "'"));
    }
    const tensorflow::NodeDef call = *op_node;  // adding nodes moves the one in the graph
    for (const std::string& input : call.input()) {
      const auto it = inputs.find(input.substr(0, input.find(':')));
      if (it == inputs.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": there is no input '", input, "' for '", op, "'"));
      }
      RETURN_IF_ERROR(AddInput(*it->second, &golden));
    }
    const int num_outputs = CountOutputs(golden.graph, op);
    if (num_outputs >= 0 && !outputs[number].empty() &&
        outputs[number].rbegin()->first >= num_outputs) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": '", op, "' has ", num_outputs, " outputs, and one more recorded"));
    }
    for (int i = 0; i < num_outputs; ++i) {
      Expectation expectation;
      expectation.tensor = absl::StrCat(op, ":", i);
      expectation.tolerance = ToleranceOf(call);
      auto it = outputs[number].find(i);
      if (it != outputs[number].end()) {
        ASSIGN_OR_RETURN(expectation.want, ConstValue(*it->second));
      }
      golden.expectations.push_back(std::move(expectation));
    }
    result.push_back(std::move(golden));
  }
  return result;
}

absl::StatusOr<GoldenCase> ReadGraphCase(const std::string& path) {
  GoldenCase golden;
  golden.group = "graphs";
  golden.name = BaseName(path);
  ASSIGN_OR_RETURN(golden.graph, ReadGraphDef(path));
  for (const tensorflow::NodeDef& node : golden.graph.node()) {
    if (absl::StartsWith(node.name(), "expect/")) {
      Expectation expectation;
      expectation.tensor = StringAttr(node, "_of");
      expectation.tolerance = ToleranceOf(node);
      ASSIGN_OR_RETURN(expectation.want, ConstValue(node));
      golden.expectations.push_back(std::move(expectation));
    } else if (node.name() == "plan") {
      for (const char* list : {"_init", "_step"}) {
        auto it = node.attr().find(list);
        if (it == node.attr().end()) continue;
        for (const std::string& op : it->second.list().s()) golden.runs.push_back(op);
      }
      golden.error = StringAttr(node, "_error");
      const std::string fetch = StringAttr(node, "_fetch");
      if (!fetch.empty()) {
        Expectation expectation;
        expectation.tensor = fetch;
        golden.expectations.push_back(std::move(expectation));
      }
    }
  }
  return golden;
}

std::vector<std::string> OpsWithoutKernel(const GoldenCase& golden) {
  const KernelRegistry& registry = KernelRegistry::Global();
  std::map<std::string, const tensorflow::FunctionDef*> functions;
  for (const tensorflow::FunctionDef& function : golden.graph.library().function()) {
    functions[function.signature().name()] = &function;
  }
  std::set<std::string> missing, seen;
  std::vector<std::string> to_visit;
  auto visit = [&](const tensorflow::NodeDef& node) {
    if (functions.count(node.op()) > 0) {
      to_visit.push_back(node.op());
    } else if (!registry.HasKernel(node.op())) {
      missing.insert(node.op());
    }
    for (const auto& [name, attr] : node.attr()) {
      if (attr.has_func()) to_visit.push_back(attr.func().name());
      for (const auto& function : attr.list().func()) to_visit.push_back(function.name());
    }
  };
  for (const tensorflow::NodeDef& node : golden.graph.node()) visit(node);
  while (!to_visit.empty()) {
    const std::string name = to_visit.back();
    to_visit.pop_back();
    if (!seen.insert(name).second || functions.count(name) == 0) continue;
    for (const tensorflow::NodeDef& node : functions[name]->node_def()) visit(node);
  }
  return {missing.begin(), missing.end()};
}

namespace {

// The error that some run must end with, or did end with: what Replay() says of it.
std::string Judge(const GoldenCase& golden, const absl::Status& status) {
  if (golden.error.empty()) return absl::StrCat("failed: ", status.ToString());
  const std::string code = absl::StatusCodeToString(status.code());
  if (code == golden.error) return "";
  return absl::StrCat("ended with ", status.ToString(), ", want ", golden.error);
}

}  // namespace

std::string Replay(const GoldenCase& golden, ExecutorKind executor, bool optimize) {
  SessionOptions options;
  options.executor = executor;
  options.optimize = optimize;
  options.intra_op_threads = 1;
  options.inter_op_threads = 1;
  return Replay(golden, options, nullptr);
}

std::string Replay(const GoldenCase& golden, const SessionOptions& options,
                   tensorflow::RunMetadata* metadata, int repetitions) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options);
  if (!session.ok()) return absl::StrCat("no session: ", session.status().ToString());
  if (absl::Status status = (*session)->Extend(golden.graph); !status.ok()) {
    return Judge(golden, status);
  }
  RunOptions run_options;
  run_options.timeout = absl::Seconds(60);
  run_options.collect_stats = metadata != nullptr;
  for (const std::string& node : golden.runs) {
    absl::Status status = (*session)->Run(run_options, {}, {}, {node}, nullptr, metadata);
    if (!status.ok()) return Judge(golden, status);
  }
  std::vector<std::string> fetches;
  for (const Expectation& expectation : golden.expectations) fetches.push_back(expectation.tensor);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::vector<Tensor> outputs;
    absl::Status status =
        (*session)->Run(run_options, golden.feeds, fetches, golden.targets, &outputs, metadata);
    if (!status.ok()) return Judge(golden, status);
    if (!golden.error.empty()) return absl::StrCat("succeeded, want ", golden.error);
    for (size_t i = 0; i < fetches.size(); ++i) {
      const Expectation& expectation = golden.expectations[i];
      if (!expectation.want.has_value()) continue;
      const std::string difference =
          FirstDifference(outputs[i], *expectation.want, expectation.tolerance);
      if (!difference.empty()) return absl::StrCat(expectation.tensor, ": ", difference);
    }
  }
  return "";
}

}  // namespace tessera
