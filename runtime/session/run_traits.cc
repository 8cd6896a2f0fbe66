#include "runtime/session/run_traits.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/strip.h"
#include "runtime/framework/op.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// Returns true if a node of the op, however often it runs, changes nothing that another run can
// see. Failing on purpose (kAsserts) is part of the answer.
bool LeavesNoTrace(const OpDef& op) {
  constexpr OpTraits kTraces(OpTrait::kUndeclared, OpTrait::kWritesOutside, OpTrait::kRandom,
                             OpTrait::kMayWait);
  if (op.traits.HasAnyOf(kTraces)) return false;
  return !op.Has(OpTrait::kWritesResource) || op.Has(OpTrait::kOwnedByStep);
}

// Returns true if the op repeats others as often as a value says, which is no trait of its own.
bool Loops(const OpDef& op) {
  static constexpr absl::string_view kLoops[] = {
      "DatasetToSingleElement", "For",  "NextIteration", "RefNextIteration", "ReduceDataset",
      "StatelessWhile",         "While"};
  return absl::c_linear_search(kLoops, op.name);
}

// Returns the name of the node that an input or a fetch refers to: "a" for "a", "a:1" and "^a".
absl::string_view NodeOf(absl::string_view name) {
  absl::ConsumePrefix(&name, "^");
  return name.substr(0, name.find(':'));
}

}  // namespace

RunTraits::RunTraits(const tensorflow::GraphDef& graph) {
  for (const auto& node : graph.node()) nodes_.emplace(node.name(), &node);
  for (const auto& function : graph.library().function()) {
    functions_.emplace(function.signature().name(), &function);
  }
}

bool RunTraits::IsPure(const RunSignature& signature) const {
  return AllOps(signature, LeavesNoTrace);
}

bool RunTraits::IsOpenEnded(const RunSignature& signature) const {
  return !AllOps(signature,
                 [](const OpDef& op) { return !op.Has(OpTrait::kMayWait) && !Loops(op); });
}

bool RunTraits::AllOps(const RunSignature& signature, Predicate predicate) const {
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
    if (found == nodes_.end() || !Fulfils(*found->second, predicate, &called)) return false;
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
      if (!Fulfils(node, predicate, &called)) return false;
    }
  }
  return true;
}

bool RunTraits::Fulfils(const tensorflow::NodeDef& node, Predicate predicate, Names* called) const {
  if (functions_.contains(node.op())) {
    called->push_back(node.op());
  } else if (const OpDef* op = OpRegistry::Global().Find(node.op());
             op == nullptr || !predicate(*op)) {
    return false;
  }
  for (const auto& [name, attr] : node.attr()) {
    if (attr.has_func()) called->push_back(attr.func().name());
    for (const auto& function : attr.list().func()) called->push_back(function.name());
  }
  return true;
}

}  // namespace tessera
