#include "runtime/session/variable_writes.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_algorithms.h"

namespace tessera {
namespace {

// Limit of calls within calls, each of which takes some stack here.
constexpr int kMaxDepth = 1000;

bool IsVariable(const Node& node) {
  return node.IsOp("VarHandleOp") || node.IsOp("VariableV2") || node.IsOp("Variable");
}

// The functions that a node calls.
struct Calls {
  std::vector<FunctionRef> functions;
  int first_arg = 0;     // the input that is their first argument
  bool is_loop = false;  // results become arguments again
};

Calls CallsOf(const Graph& graph, const Node& node) {
  Calls calls;
  const OpDef& op = node.op();
  if (!op.Has(OpTrait::kCallsFunctions)) return calls;
  if (graph.library() != nullptr && graph.library()->Contains(node.op_name())) {
    calls.functions.push_back({node.op_name(), node.attrs()});
    return calls;
  }
  for (const AttrDef& attr : op.attrs) {
    const auto value = node.attrs().find(attr.name);
    if (value == node.attrs().end()) continue;
    if (const auto* function = value->second.get<FunctionRef>()) {
      calls.functions.push_back(*function);
    } else if (const auto* functions = value->second.get<std::vector<FunctionRef>>()) {
      calls.functions.insert(calls.functions.end(), functions->begin(), functions->end());
    }
  }
  for (const ArgDef& arg : op.inputs) {
    if (arg.use != ArgUse::kPassed) continue;
    const absl::StatusOr<ArgRange> range = InputRange(op, node.attrs(), arg.name);
    if (range.ok()) calls.first_arg = range->begin;
  }
  calls.is_loop = op.Has(OpTrait::kLoopsFunctions);
  return calls;
}

std::string HandleId(absl::string_view container, absl::string_view name) {
  return absl::StrCat("handle ", container, "/", name);
}

}  // namespace

std::string VariableWrites::IdOf(const Node& variable) {
  const std::string container = variable.attr<std::string>("container").value_or("");
  std::string name = variable.attr<std::string>("shared_name").value_or("");
  if (name.empty()) name = variable.name();
  if (variable.IsOp("VarHandleOp")) return HandleId(container, name);
  return absl::StrCat("reference ", container, "/", name);
}

void VariableWrites::Write(const Sources& sources, std::set<int>* written_args) {
  for (const std::string& source : sources) {
    int arg;
    if (absl::StartsWith(source, "arg ") && absl::SimpleAtoi(source.substr(4), &arg)) {
      written_args->insert(arg);
    } else {
      written_.insert(source);
    }
  }
}

absl::Status VariableWrites::Add(const Graph& graph) {
  std::set<int> ignored;
  return Follow(graph, &ignored, nullptr);
}

absl::Status VariableWrites::Follow(const Graph& graph, std::set<int>* written_args,
                                    std::vector<Sources>* results) {
  ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph));
  std::map<std::pair<const Node*, int>, Sources> flow;
  // Once is enough but for the back edges of v1 loops.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node* node : order) {
      RETURN_IF_ERROR(FollowNode(graph, *node, &flow, written_args, &changed));
    }
  }
  if (results == nullptr) return absl::OkStatus();
  for (const Node* node : order) {
    if (!node->IsOp("_Retval")) continue;
    const size_t index = static_cast<size_t>(node->attr<int64_t>("index").value_or(0));
    if (results->size() <= index) results->resize(index + 1);
    (*results)[index] = flow[{node->input(0).node, node->input(0).index}];
  }
  return absl::OkStatus();
}

absl::Status VariableWrites::FollowNode(const Graph& graph, const Node& node,
                                        std::map<std::pair<const Node*, int>, Sources>* flow,
                                        std::set<int>* written_args, bool* changed) {
  auto give = [&](int output, const Sources& sources) {
    if (sources.empty()) return;
    Sources& known = (*flow)[{&node, output}];
    const size_t before = known.size();
    known.insert(sources.begin(), sources.end());
    if (known.size() != before) *changed = true;
  };
  if (IsVariable(node)) {
    give(0, {IdOf(node)});
    return absl::OkStatus();
  }
  if (node.IsOp("_VarHandlesOp")) {
    ASSIGN_OR_RETURN(const auto containers, node.attr<std::vector<std::string>>("containers"));
    ASSIGN_OR_RETURN(const auto names, node.attr<std::vector<std::string>>("shared_names"));
    const size_t num_named = std::min(containers.size(), names.size());
    for (int i = 0; i < node.num_outputs() && i < static_cast<int>(num_named); ++i) {
      give(i, {HandleId(containers[i], names[i])});
    }
    return absl::OkStatus();
  }
  if (node.IsOp("_Arg") && node.output_type(0) == DType::kResource) {
    give(0, {absl::StrCat("arg ", node.attr<int64_t>("index").value_or(0))});
    return absl::OkStatus();
  }
  // Handles travel as resources; references along edges that both ends declare as such.
  std::vector<Sources> inputs(node.num_inputs());
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input_type(i) != DType::kResource && !IsRef(node.input_type(i))) continue;
    auto it = flow->find({node.input(i).node, node.input(i).index});
    if (it != flow->end()) inputs[i] = it->second;
  }
  const Calls calls = CallsOf(graph, node);
  if (calls.functions.empty()) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (inputs[i].empty()) continue;
      const ArgUse use = InputUse(node.op(), node.attrs(), i);
      if (use == ArgUse::kRead) continue;
      if (use != ArgUse::kForwarded && use != ArgUse::kRouted) Write(inputs[i], written_args);
      for (int output = 0; output < node.num_outputs(); ++output) {
        if (use != ArgUse::kForwarded || output == i) give(output, inputs[i]);
      }
    }
    return absl::OkStatus();
  }
  for (const FunctionRef& ref : calls.functions) {
    ASSIGN_OR_RETURN(const Summary* summary, Summarize(*graph.library(), ref));
    for (int i = calls.first_arg; i < node.num_inputs(); ++i) {
      if (summary->written_args.count(i - calls.first_arg) > 0) Write(inputs[i], written_args);
      // A loop variable that is a handle may come from any of them.
      if (calls.is_loop) {
        for (int output = 0; output < node.num_outputs(); ++output) give(output, inputs[i]);
        if (!summary->written_args.empty()) Write(inputs[i], written_args);
      }
    }
    const size_t num_results =
        std::min(summary->results.size(), static_cast<size_t>(node.num_outputs()));
    for (size_t r = 0; r < num_results; ++r) {
      for (const std::string& source : summary->results[r]) {
        int arg;
        if (!absl::StartsWith(source, "arg ") || !absl::SimpleAtoi(source.substr(4), &arg)) {
          give(static_cast<int>(r), {source});
        } else if (calls.first_arg + arg < node.num_inputs()) {
          give(static_cast<int>(r), inputs[calls.first_arg + arg]);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<const VariableWrites::Summary*> VariableWrites::Summarize(
    const FunctionLibrary& library, const FunctionRef& ref) {
  std::string key = ref.name;
  if (const OpDef* signature = library.FindSignature(ref.name)) {
    for (const AttrDef& attr : signature->attrs) {
      auto it = ref.attrs.find(attr.name);
      if (it != ref.attrs.end()) absl::StrAppend(&key, "\n", attr.name, "=", it->second.ToString());
    }
  }
  auto [it, is_new] = summaries_.emplace(key, Summary());
  Summary& summary = it->second;
  if (!is_new && summary.is_done) return &summary;
  ASSIGN_OR_RETURN(const FunctionBody body, library.Instantiate(ref));
  if (!is_new) {
    // A recursion: until its outer call is through, it may write whatever it is given.
    for (size_t i = 0; i < body.arg_types.size(); ++i) {
      summary.written_args.insert(static_cast<int>(i));
    }
    return &summary;
  }
  if (depth_ == kMaxDepth) {
    return absl::ResourceExhaustedError(
        absl::StrCat("function '", ref.name, "' is over ", kMaxDepth, " calls deep"));
  }
  std::set<int> written_args;
  std::vector<Sources> results;
  ++depth_;
  const absl::Status status = Follow(*body.graph, &written_args, &results);
  --depth_;
  RETURN_IF_ERROR(status);
  summary.written_args.insert(written_args.begin(), written_args.end());
  summary.results = std::move(results);
  summary.is_done = true;
  return &summary;
}

}  // namespace tessera
