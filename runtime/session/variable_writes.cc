#include "runtime/session/variable_writes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/function.h"
#include "runtime/graph/function_calls.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/resource_names.h"

namespace tessera {
namespace {

// Limit of calls within calls, each of which takes some stack here.
constexpr int kMaxDepth = 1000;

}  // namespace

bool VariableWrites::MayWrite(const Node& variable) const {
  for (const std::string& name : ResourceNames(variable)) {
    if (written_.count(name) > 0) return true;
  }
  return false;
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
  if (const std::vector<std::string> names = ResourceNames(node); !names.empty()) {
    const int num_named = std::min(static_cast<int>(names.size()), node.num_outputs());
    for (int i = 0; i < num_named; ++i) give(i, {names[i]});
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
  const FunctionCalls calls = CallsOf(graph, node);
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
    if (graph.library() == nullptr) {
      return absl::NotFoundError(absl::StrCat("node '", node.name(), "' calls the function '",
                                              ref.name, "', but the graph has no functions"));
    }
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
