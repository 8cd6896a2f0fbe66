#include "runtime/optimize/inline_functions.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/side_effects.h"
#include "runtime/optimize/control_flow.h"

namespace tessera {
namespace {

// A library can call its way up to any size with few functions.
constexpr int kMaxNodes = 200'000;
// Functions that call functions; each level takes some stack here.
constexpr int kMaxDepth = 200;

// The function that a node calls, if it is a call that can be inlined.
std::optional<FunctionRef> CalledFunction(const Graph& graph, const Node& node) {
  const FunctionLibrary* library = graph.library().get();
  if (node.IsOp("PartitionedCall") || node.IsOp("StatefulPartitionedCall")) {
    auto f = node.attr<FunctionRef>("f");
    if (f.ok() && library->Contains(f->name)) return *std::move(f);
  } else if (library->Contains(node.op_name())) {
    FunctionRef ref{.name = node.op_name(), .attrs = {}};
    for (const AttrDef& attr : node.op().attrs) {
      auto it = node.attrs().find(attr.name);
      if (it != node.attrs().end()) ref.attrs.emplace(it->first, it->second);
    }
    return ref;
  }
  return std::nullopt;
}

bool IsTrue(const AttrValue* value) {
  const bool* flag = value == nullptr ? nullptr : value->get<bool>();
  return flag != nullptr && *flag;
}

// A function's body in which all calls that can be are inlined.
struct FlatBody {
  FunctionBody body;
  std::vector<Node*> effects;  // nodes that run for what they do
};

// One call that is being replaced.
class CallSite {
 public:
  CallSite(Graph* graph, Node* call, const FlatBody& flat)
      : graph_(*graph), call_(call), flat_(flat), name_(call->name()), device_(call->device()) {}

  // What the call has become, for those who waited for it; null if nobody did.
  absl::StatusOr<Node*> Replace(bool keep) {
    copies_.assign(flat_.body.graph->id_bound(), nullptr);
    RETURN_IF_ERROR(CopyNodes());
    RETURN_IF_ERROR(CopyEdges());
    RETURN_IF_ERROR(DelayByControlInputs());
    for (int i = 0; i < call_->num_outputs(); ++i) uses_.push_back(call_->uses(i));
    const std::vector<Node*> waiting = call_->control_outputs();
    std::vector<Node*> awaited = WhatTheCallAwaits();
    std::vector<Endpoint> results;
    for (const Node* result : flat_.body.results) results.push_back(CopyOf(result->input(0)));
    graph_.Remove(call_);

    Node* done = nullptr;
    if (keep || !waiting.empty() || !flat_.effects.empty()) {
      ASSIGN_OR_RETURN(done, graph_.AddNode(name_, "NoOp", {}, device_));
      if (keep) {
        for (const Endpoint& result : results) awaited.push_back(result.node);
      }
      for (Node* node : awaited) graph_.AddControlEdge(node, done);
      for (Node* node : waiting) graph_.AddControlEdge(done, node);
    }
    for (size_t i = 0; i < results.size(); ++i) RETURN_IF_ERROR(UseResult(i, results[i], done));
    return done;
  }

 private:
  absl::Status CopyNodes() {
    for (Node* node : flat_.body.graph->nodes()) {
      if (node->IsOp("_Arg") || node->IsOp("_Retval")) continue;
      const std::string name = graph_.UniqueName(absl::StrCat(name_, "/", node->name()));
      ASSIGN_OR_RETURN(copies_[node->id()],
                       graph_.AddNode(name, node->op_name(), AttrsOf(*node),
                                      node->device().empty() ? device_ : node->device()));
    }
    args_.resize(flat_.body.args.size());
    for (size_t i = 0; i < args_.size(); ++i) {
      args_[i] = call_->input(static_cast<int>(i));
      // The call would have read the reference once, before its body ran.
      if (IsRef(args_[i].node->output_type(args_[i].index))) {
        ASSIGN_OR_RETURN(args_[i].node, AddIdentity(absl::StrCat(name_, "/arg_", i), args_[i]));
        args_[i].index = 0;
      }
    }
    return absl::OkStatus();
  }

  AttrMap AttrsOf(const Node& node) const {
    AttrMap attrs = node.attrs();
    if (auto it = attrs.find("shared_name"); it != attrs.end()) {
      // Without a name the resource is called after its node, which has another name now.
      const std::string* shared = it->second.get<std::string>();
      if (shared != nullptr && shared->empty()) it->second = node.name();
    }
    // What such a summary says of its node is the name it had in the innermost function.
    if (node.IsOp("TensorSummary")) attrs.emplace("_node_name", node.name());
    if (auto it = attrs.find("_class"); it != attrs.end()) {
      if (const auto* classes = it->second.get<std::vector<std::string>>()) {
        std::vector<std::string> renamed;
        for (absl::string_view c : *classes) {
          renamed.push_back(absl::ConsumePrefix(&c, "loc:@") ? absl::StrCat("loc:@", name_, "/", c)
                                                             : std::string(c));
        }
        it->second = std::move(renamed);
      }
    }
    return attrs;
  }

  absl::StatusOr<Node*> AddIdentity(absl::string_view name, const Endpoint& input) {
    const DType type = RemoveRef(input.node->output_type(input.index));
    return graph_.AddNode(graph_.UniqueName(name), "Identity", {{"T", type}}, {input}, device_);
  }

  Endpoint CopyOf(const Endpoint& from) const {
    if (from.node->IsOp("_Arg")) return args_[*from.node->attr<int64_t>("index")];
    return {copies_[from.node->id()], from.index};
  }

  absl::Status CopyEdges() {
    for (Node* node : flat_.body.graph->nodes()) {
      Node* copy = copies_[node->id()];
      if (copy == nullptr) continue;
      for (int i = 0; i < node->num_inputs(); ++i) {
        RETURN_IF_ERROR(graph_.Connect(CopyOf(node->input(i)), copy, i));
      }
      for (Node* control : node->control_inputs()) {
        Node* from = control->IsOp("_Arg") ? CopyOf({control, 0}).node : copies_[control->id()];
        if (from != nullptr) graph_.AddControlEdge(from, copy);
      }
    }
    return absl::OkStatus();
  }

  absl::Status DelayByControlInputs() {
    const std::vector<Node*>& before = call_->control_inputs();
    if (before.empty()) return absl::OkStatus();
    if (before.size() == 1) {
      start_ = before[0];
    } else {
      ASSIGN_OR_RETURN(start_, graph_.AddNode(graph_.UniqueName(absl::StrCat(name_, "/start")),
                                              "NoOp", {}, device_));
      for (Node* node : before) graph_.AddControlEdge(node, start_);
    }
    for (Node* copy : copies_) {
      if (copy != nullptr && DependsOnState(*copy)) graph_.AddControlEdge(start_, copy);
    }
    return absl::OkStatus();
  }

  std::vector<Node*> WhatTheCallAwaits() const {
    std::vector<Node*> awaited = call_->control_inputs();
    for (const Endpoint& input : call_->inputs()) {
      // Constants and handles wait for nothing themselves.
      const Node& node = *input.node;
      if (node.num_inputs() > 0 || !node.control_inputs().empty()) awaited.push_back(input.node);
    }
    for (const Node* node : flat_.effects) awaited.push_back(copies_[node->id()]);
    if (call_->control_outputs().empty()) return awaited;
    // Who waits for the call may write what its body reads, or what functions called there do.
    for (const Node* node : flat_.body.graph->nodes()) {
      Node* const copy = copies_[node->id()];
      if (copy != nullptr && DependsOnState(*node)) awaited.push_back(copy);
    }
    return awaited;
  }

  // Lets those who used the call's output i use `result`; not before the side effects are done, and
  // what the call waited for.
  absl::Status UseResult(size_t i, Endpoint result, Node* done) {
    if (uses_[i].empty()) return absl::OkStatus();
    Node* awaited = flat_.effects.empty() ? start_ : done;
    if (awaited != nullptr && absl::c_linear_search(result.node->control_inputs(), awaited)) {
      awaited = nullptr;
    }
    if (awaited != nullptr || IsRef(result.node->output_type(result.index))) {
      ASSIGN_OR_RETURN(result.node, AddIdentity(absl::StrCat(name_, "/result_", i), result));
      result.index = 0;
      if (awaited != nullptr) graph_.AddControlEdge(awaited, result.node);
    }
    for (const Use& use : uses_[i]) RETURN_IF_ERROR(graph_.Connect(result, use.node, use.index));
    return absl::OkStatus();
  }

  Graph& graph_;
  Node* const call_;
  const FlatBody& flat_;
  const std::string name_, device_;
  Node* start_ = nullptr;      // what the call waited for; null if for nothing
  std::vector<Node*> copies_;  // by id in the body
  std::vector<Endpoint> args_;
  std::vector<std::vector<Use>> uses_;
};

class Inliner {
 public:
  // `keep`: nodes of the graph that must not vanish, as OptimizationItem::preserved.
  absl::Status InlineCalls(Graph* graph, std::vector<Node*>* keep, bool* changed) {
    if (graph->library() == nullptr || HasControlFlow(*graph)) return absl::OkStatus();
    for (Node* node : graph->nodes()) {
      const std::optional<FunctionRef> function = CalledFunction(*graph, *node);
      if (!function.has_value()) continue;
      const FlatBody* flat = Flatten(*graph->library(), *function);
      if (flat == nullptr || !Fits(*node, flat->body) ||
          graph->num_nodes() + flat->body.graph->num_nodes() > kMaxNodes) {
        continue;
      }
      auto kept = std::find(keep->begin(), keep->end(), node);
      ASSIGN_OR_RETURN(Node * done,
                       CallSite(graph, node, *flat).Replace(/*keep=*/kept != keep->end()));
      if (kept != keep->end()) *kept = done;
      *changed = true;
    }
    return absl::OkStatus();
  }

 private:
  // Null if the function is to stay a call; also if it cannot be built, which shows when the call
  // is compiled.
  const FlatBody* Flatten(const FunctionLibrary& library, const FunctionRef& function) {
    if (depth_ >= kMaxDepth || IsTrue(library.FindFunctionAttr(function.name, "_noinline"))) {
      return nullptr;
    }
    const std::string key = AttrValue(function).ToString();
    auto [it, is_new] = bodies_.emplace(key, nullptr);
    // While it is being built the entry is null: a recursive call stays a call.
    if (!is_new) return it->second.get();
    auto body = library.Instantiate(function);
    if (!body.ok() || HasControlFlow(*body->graph)) return nullptr;
    auto flat = std::make_unique<FlatBody>();
    flat->body = *std::move(body);
    bool changed = false;
    FunctionBody& built = flat->body;
    ++depth_;
    const absl::Status status = InlineCalls(built.graph.get(), &built.control_results, &changed);
    --depth_;
    if (!status.ok()) return nullptr;
    for (Node* node : built.graph->nodes()) {
      if (HasSideEffect(*node, &library)) flat->effects.push_back(node);
    }
    std::vector<Node*> roots = flat->effects;
    roots.insert(roots.end(), built.args.begin(), built.args.end());
    roots.insert(roots.end(), built.results.begin(), built.results.end());
    RemoveAllBut(built.graph.get(), roots);
    built.control_results = flat->effects;
    return (bodies_[key] = std::move(flat)).get();
  }

  // A call may be wrong about the function's types; the runtime's error then says so.
  static bool Fits(const Node& call, const FunctionBody& body) {
    for (const Endpoint& input : call.inputs()) {
      if (input.node == nullptr) return false;
    }
    return call.input_types() == body.arg_types && call.output_types() == body.result_types;
  }

  absl::flat_hash_map<std::string, std::unique_ptr<FlatBody>> bodies_;
  int depth_ = 0;
};

}  // namespace

absl::Status InlineFunctionsPass::Run(OptimizationItem& item, bool* changed) const {
  return Inliner().InlineCalls(item.graph, &item.preserved, changed);
}

}  // namespace tessera
