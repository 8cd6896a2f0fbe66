#include "runtime/session/pure_runs.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/framework/op.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// Ops that hold or get at state, and yet a run more of them changes nothing that another can see.
bool OnlyReads(absl::string_view op) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>{
      // Handles, and readers of what they name.
      "VarHandleOp", "VarIsInitializedOp", "ReadVariableOp", "VariableV2", "Variable",
      "IsVariableInitialized", "RefIdentity", "RefSwitch", "RefMerge", "RefEnter", "RefExit",
      "ResourceGather", "ResourceGatherNd", "VariableShape", "DisableCopyOnRead", "HashTable",
      "HashTableV2", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensorsV2",
      "MutableDenseHashTableV2", "LookupTableFindV2", "LookupTableFind", "LookupTableSizeV2",
      "LookupTableSize",
      // What they do is what the functions they call do.
      "StatefulPartitionedCall", "If", "While", "Case",
      // State of the run's own.
      "Placeholder", "PlaceholderV2", "TensorArrayV3", "TensorArrayReadV3", "TensorArrayWriteV3",
      "TensorArrayGatherV3", "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArrayCloseV3",
      "TensorArrayConcatV3", "TensorArraySplitV3", "StackV2", "StackPushV2", "StackPopV2",
      "StackCloseV2", "_Arg", "_Retval", "Assert"};
  return kOps->contains(op);
}

bool TouchesState(const OpDef& op) {
  if (op.is_stateful) return true;
  // Writers of references, and of the older kinds of resources, are not declared to be stateful.
  return std::any_of(op.inputs.begin(), op.inputs.end(), [](const ArgDef& input) {
    return input.is_ref || input.type == DType::kResource;
  });
}

// The name of the node that an input or a fetch names: "a" of "a", "a:1" and "^a".
absl::string_view NodeOf(absl::string_view name) {
  absl::ConsumePrefix(&name, "^");
  return name.substr(0, name.find(':'));
}

}  // namespace

PureRuns::PureRuns(const tensorflow::GraphDef& graph) {
  for (const auto& node : graph.node()) nodes_.emplace(node.name(), &node);
  for (const auto& function : graph.library().function()) {
    functions_.emplace(function.signature().name(), &function);
  }
}

bool PureRuns::IsPure(const RunSignature& signature) const {
  absl::flat_hash_set<absl::string_view> seen;
  // What is fed is not run, nor is what lies before it.
  for (const std::string& feed : signature.feeds) seen.insert(NodeOf(feed));
  Names open, called;
  const auto visit = [&](absl::string_view name) {
    if (seen.insert(NodeOf(name)).second) open.push_back(NodeOf(name));
  };
  for (const std::string& fetch : signature.fetches) visit(fetch);
  for (const std::string& target : signature.targets) visit(target);
  while (!open.empty()) {
    const auto found = nodes_.find(open.back());
    open.pop_back();
    if (found == nodes_.end() || !IsPureNode(*found->second, &called)) return false;
    for (const std::string& input : found->second->input()) visit(input);
  }
  absl::flat_hash_set<absl::string_view> seen_functions;
  while (!called.empty()) {
    const absl::string_view name = called.back();
    called.pop_back();
    if (!seen_functions.insert(name).second) continue;
    const auto found = functions_.find(name);
    if (found == functions_.end()) return false;
    for (const auto& node : found->second->node_def()) {
      if (!IsPureNode(node, &called)) return false;
    }
  }
  return true;
}

bool PureRuns::IsPureNode(const tensorflow::NodeDef& node, Names* called) const {
  if (functions_.contains(node.op())) {
    called->push_back(node.op());
  } else if (const OpDef* op = OpRegistry::Global().Find(node.op());
             op == nullptr || (TouchesState(*op) && !OnlyReads(node.op()))) {
    return false;
  }
  for (const auto& [name, attr] : node.attr()) {
    if (attr.has_func()) called->push_back(attr.func().name());
    for (const auto& function : attr.list().func()) called->push_back(function.name());
  }
  return true;
}

}  // namespace tessera
