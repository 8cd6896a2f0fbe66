#include "runtime/session/run_traits.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/strip.h"
#include "runtime/framework/op.h"
#include "runtime/session/named_functions.h"
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

// Returns true if a value, a queue, a file or a terminal decides how long a node of the op takes,
// with whatever it repeats. Ops that go through a dataset may write, as its functions may.
bool MayTakeLong(const OpDef& op) {
  constexpr OpTraits kLong(OpTrait::kUndeclared, OpTrait::kWritesOutside, OpTrait::kMayWait,
                           OpTrait::kLoopsFunctions);
  // A loop of v1 control flow begins where a frame is entered.
  const bool enters_frame =
      op.traits.Has(OpTrait::kControlFlow) && op.FindAttr("frame_name") != nullptr;
  return op.traits.HasAnyOf(kLong) || enters_frame;
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
  return !AllOps(signature, [](const OpDef& op) { return !MayTakeLong(op); });
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
  AppendNamedFunctions(node, called);
  return true;
}

}  // namespace tessera
