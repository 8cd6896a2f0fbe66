#include "runtime/training/program/program_iterators.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_export.h"
#include "runtime/kernels/fingerprint.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

bool IsIterator(const Node& node) {
  return node.IsOp("Iterator") || node.IsOp("IteratorV2") || node.IsOp("OneShotIterator");
}

// Whether the op gives data, or the handle of an iterator, whose place cannot be saved.
bool HidesItsPlace(const Node& node) {
  return absl::StartsWith(node.op_name(), "IteratorFromStringHandle") ||
         absl::StrContains(node.op_name(), "MultiDeviceIterator") ||
         absl::StartsWith(node.op_name(), "QueueDequeue") ||
         absl::StartsWith(node.op_name(), "ReaderRead");
}

// The name under which nodes share an iterator.
std::string SharedName(const Node& iterator) {
  std::string name = iterator.attr<std::string>("shared_name").value_or("");
  if (name.empty()) name = iterator.name();
  return absl::StrCat(iterator.attr<std::string>("container").value_or(""), "/", name);
}

// Computes a fingerprint of nodes and of the functions that they name. It stays the same when the
// seeds of random ops change, since these count for the beginning of a run alone.
class PipelineFingerprint {
 public:
  explicit PipelineFingerprint(const tensorflow::GraphDef& graph) {
    for (const auto& function : graph.library().function()) {
      functions_[function.signature().name()] = &function;
    }
    for (const auto& node : graph.node()) AddNode(node);
    for (size_t i = 0; i < named_.size(); ++i) AddFunction(*named_[i]);
  }

  uint64_t Get() const { return fingerprint_; }

 private:
  void Add(const google::protobuf::MessageLite& message) {
    std::string bytes;
    {
      google::protobuf::io::StringOutputStream stream(&bytes);
      google::protobuf::io::CodedOutputStream coded(&stream);
      coded.SetSerializationDeterministic(true);
      message.SerializeToCodedStream(&coded);
    }
    fingerprint_ = FingerprintCat64(fingerprint_, Fingerprint64(bytes));
  }

  void AddNode(tensorflow::NodeDef node) {
    node.clear_experimental_debug_info();
    auto& attrs = *node.mutable_attr();
    if (attrs.contains("seed") && attrs.contains("seed2")) {
      attrs.erase("seed");
      attrs.erase("seed2");
    }
    Add(node);
    NoteFunction(node.op());
    const std::map<std::string, tensorflow::AttrValue> ordered(attrs.begin(), attrs.end());
    for (const auto& [name, value] : ordered) {
      if (value.has_func()) NoteFunction(value.func().name());
      for (const auto& function : value.list().func()) NoteFunction(function.name());
    }
  }

  void AddFunction(const tensorflow::FunctionDef& function) {
    Add(function.signature());
    for (const auto& node : function.node_def()) AddNode(node);
    const std::map<std::string, std::string> results(function.ret().begin(), function.ret().end());
    for (const auto& [name, tensor] : results) {
      fingerprint_ = FingerprintCat64(fingerprint_, Fingerprint64(absl::StrCat(name, "=", tensor)));
    }
  }

  void NoteFunction(const std::string& name) {
    const auto function = functions_.find(name);
    if (function != functions_.end() && seen_.insert(name).second) {
      named_.push_back(function->second);
    }
  }

  uint64_t fingerprint_ = 0;
  std::map<std::string, const tensorflow::FunctionDef*> functions_;
  std::set<std::string> seen_;
  std::vector<const tensorflow::FunctionDef*> named_;  // in the order in which they were found
};

// The fingerprint of what gives an iterator its dataset: the node itself, and those that make the
// iterator.
absl::StatusOr<std::string> FingerprintOf(const Graph& graph, const Node& iterator) {
  RunSignature makers = {.targets = {iterator.name()}};
  for (const Node* node : graph.nodes()) {
    if (!node->IsOp("MakeIterator")) continue;
    const Node* const made = node->input(1).node;
    if (made != nullptr && IsIterator(*made) && SharedName(*made) == SharedName(iterator)) {
      makers.targets.push_back(node->name());
    }
  }
  ASSIGN_OR_RETURN(const PrunedGraph pruned, Prune(graph, makers));
  tensorflow::GraphDef graph_def;
  ExportGraph(*pruned.graph, &graph_def);
  return absl::StrCat(absl::Hex(PipelineFingerprint(graph_def).Get(), absl::kZeroPad16));
}

absl::StatusOr<StateIterator> AddStateIterator(Graph* graph, Node* iterator) {
  StateIterator state{.name = iterator->name(), .handle = TensorName({iterator})};
  ASSIGN_OR_RETURN(state.fingerprint, FingerprintOf(*graph, *iterator));
  const auto add = [&](absl::string_view what, absl::string_view op, AttrMap attrs,
                       const std::vector<Endpoint>& inputs) {
    return graph->AddNode(graph->UniqueName(absl::StrCat(iterator->name(), "/State/", what)), op,
                          std::move(attrs), inputs, iterator->device());
  };
  ASSIGN_OR_RETURN(Node* const position,
                   add("Position", "Placeholder",
                       {{"dtype", DType::kVariant}, {"shape", PartialShape({1})}}, {}));
  ASSIGN_OR_RETURN(Node* const restore,
                   add("Restore", "DeserializeIterator", {}, {{iterator}, {position}}));
  state.position = TensorName({position});
  state.restore = restore->name();
  return state;
}

}  // namespace

absl::Status AddStateIterators(const RunSignature& step, Graph* graph, TrainingProgram* program) {
  ASSIGN_OR_RETURN(const PrunedGraph pruned, Prune(*graph, step));
  const std::vector<Node*> reached = pruned.graph->nodes();
  if (std::any_of(reached.begin(), reached.end(),
                  [](const Node* node) { return HidesItsPlace(*node); })) {
    return absl::OkStatus();
  }
  std::set<std::string> seen;  // two nodes may stand for one iterator
  for (const Node* node : reached) {
    if (!IsIterator(*node) || !seen.insert(SharedName(*node)).second) continue;
    ASSIGN_OR_RETURN(StateIterator state, AddStateIterator(graph, graph->FindNode(node->name())));
    program->iterators.push_back(std::move(state));
  }
  return absl::OkStatus();
}

}  // namespace tessera
