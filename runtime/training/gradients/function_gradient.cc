#include "runtime/training/gradients/function_gradient.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/function_export.h"
#include "runtime/graph/graph_algorithms.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tessera {
namespace {

// Returns true for a node that the backward function may have once more, since it costs nothing and
// always gives the same.
bool IsCheapToRepeat(const Node& node) {
  return node.num_inputs() == 0 && (node.IsOp("Const") || node.op().Has(OpTrait::kMakesHandle));
}

std::vector<Node*> CopiesOf(const std::vector<Node*>& nodes, const Graph& copy) {
  std::vector<Node*> copies;
  for (const Node* node : nodes) copies.push_back(copy.node(node->id()));
  return copies;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FunctionGradient>> FunctionGradient::Make(
    Differentiation& caller, const FunctionRef& function, std::vector<int> ys, std::vector<int> xs,
    bool keep_slices) {
  std::unique_ptr<FunctionGradient> gradient(new FunctionGradient);
  if (caller.graph()->library() == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no function '", function.name, "'"));
  }
  ASSIGN_OR_RETURN(gradient->body_, caller.graph()->library()->Instantiate(function));
  const FunctionBody& body = gradient->body_;
  Graph* const graph = body.graph.get();
  ASSIGN_OR_RETURN(gradient->differentiation_,
                   Differentiation::Create(graph, caller.name(), caller.recompute()));
  Differentiation& differentiation = *gradient->differentiation_;
  gradient->first_id_ = graph->id_bound();
  DifferentiatedRegion region;
  for (int y : ys) {
    Node* const arg =
        differentiation.backward().AddOpenNode("_Arg", {{"T", body.result_types[y]}, {"index", 0}});
    if (arg == nullptr) return differentiation.backward().status();
    gradient->incoming_.push_back(differentiation.backward().Output(arg));
    region.ys.push_back(body.results[y]->input(0));
    region.grad_ys.push_back({.values = {arg, 0}});
  }
  for (int x : xs) region.xs.push_back({body.args[x], 0});
  // A call among the control results is replaced by another node of its name.
  std::vector<std::string> control_results;
  for (const Node* node : body.control_results) control_results.push_back(node->name());
  ASSIGN_OR_RETURN(const std::vector<Gradient> gradients, differentiation.Run(region));
  for (size_t i = 0; i < control_results.size(); ++i) {
    gradient->body_.control_results[i] = graph->FindNode(control_results[i]);
  }
  GraphBuilder& build = differentiation.backward();
  std::vector<Expr> slices;
  for (const Gradient& dx : gradients) {
    const bool is_sparse = keep_slices && dx.is_sparse();
    gradient->indices_of_.push_back(is_sparse ? static_cast<int>(xs.size() + slices.size()) : -1);
    if (is_sparse) {
      gradient->outgoing_.push_back(build.Of(dx.values));
      slices.insert(slices.end(), {build.Of(dx.indices), build.Of(dx.dense_shape)});
    } else {
      gradient->outgoing_.push_back(dx.is_none() ? Expr() : DenseGradient(build, dx));
    }
  }
  gradient->outgoing_.insert(gradient->outgoing_.end(), slices.begin(), slices.end());
  RETURN_IF_ERROR(differentiation.backward().status());
  RETURN_IF_ERROR(differentiation.forward().status());
  caller.graph()->set_library(graph->library());
  return gradient;
}

absl::Status FunctionGradient::FindKept() {
  RETURN_IF_ERROR(build().status());
  RETURN_IF_ERROR(differentiation_->SettleForwardValues(first_id_));
  absl::flat_hash_set<Endpoint> seen;
  auto keep = [&](const Endpoint& value) {
    if (!IsCheapToRepeat(*value.node) && seen.insert(value).second) kept_.push_back(value);
  };
  for (const Use& use : differentiation_->Crossings(first_id_)) {
    keep(use.node->input(use.index));
  }
  // A gradient may be a forward value itself.
  for (const Expr& dx : outgoing_) {
    if (!dx.empty() && !differentiation_->IsBackward(dx.endpoint().node)) keep(dx.endpoint());
  }
  return absl::OkStatus();
}

FunctionGradient::Part FunctionGradient::Forward() const {
  Part part = {.graph = body_.graph->Clone()};
  for (Node* node : body_.graph->nodes()) {
    if (differentiation_->IsBackward(node)) part.graph->Remove(part.graph->node(node->id()));
  }
  part.args = CopiesOf(body_.args, *part.graph);
  part.results = CopiesOf(body_.results, *part.graph);
  part.control_results = CopiesOf(body_.control_results, *part.graph);
  return part;
}

absl::StatusOr<FunctionGradient::Part> FunctionGradient::Backward(
    const std::vector<DType>& types, const absl::flat_hash_map<Endpoint, int>& places,
    int first_gradient) const {
  Part part = {.graph = body_.graph->Clone()};
  std::vector<Endpoint> arguments;
  for (DType type : types) {
    ASSIGN_OR_RETURN(const Endpoint argument, AddArgument(&part, type));
    arguments.push_back(argument);
  }
  auto copy_of = [&](const Endpoint& original) -> Endpoint {
    return {part.graph->node(original.node->id()), original.index};
  };
  for (const Use& use : differentiation_->Crossings(first_id_)) {
    const auto place = places.find(use.node->input(use.index));
    if (place == places.end()) continue;
    RETURN_IF_ERROR(
        part.graph->Connect(arguments[place->second], part.graph->node(use.node->id()), use.index));
  }
  for (size_t i = 0; i < incoming_.size(); ++i) {
    RETURN_IF_ERROR(
        part.graph->ReplaceUses(copy_of(incoming_[i].endpoint()), arguments[first_gradient + i]));
  }
  for (const Expr& dx : outgoing_) {
    if (dx.empty()) continue;
    Endpoint result = copy_of(dx.endpoint());
    if (const auto place = places.find(dx.endpoint()); place != places.end()) {
      result = arguments[place->second];
    }
    for (size_t i = 0; i < incoming_.size(); ++i) {
      if (dx.endpoint() == incoming_[i].endpoint()) result = arguments[first_gradient + i];
    }
    RETURN_IF_ERROR(AddResult(&part, result));
  }
  return part;
}

absl::StatusOr<Endpoint> AddArgument(FunctionGradient::Part* part, DType dtype) {
  const int index = static_cast<int>(part->args.size());
  ASSIGN_OR_RETURN(Node * node, part->graph->AddNode(part->graph->UniqueName("gradient_arg"),
                                                     "_Arg", {{"T", dtype}, {"index", index}}));
  part->args.push_back(node);
  return Endpoint{node, 0};
}

absl::Status AddResult(FunctionGradient::Part* part, const Endpoint& value) {
  const int index = static_cast<int>(part->results.size());
  const DType dtype = RemoveRef(value.node->output_type(value.index));
  ASSIGN_OR_RETURN(Node * node,
                   part->graph->AddNode(part->graph->UniqueName("gradient_result"), "_Retval",
                                        {{"T", dtype}, {"index", index}}, {value}));
  part->results.push_back(node);
  return absl::OkStatus();
}

absl::StatusOr<FunctionRef> AddFunction(Graph* graph, absl::string_view name,
                                        const FunctionGradient::Part& part) {
  std::vector<Node*> roots = part.args;
  roots.insert(roots.end(), part.results.begin(), part.results.end());
  roots.insert(roots.end(), part.control_results.begin(), part.control_results.end());
  RemoveAllBut(part.graph.get(), roots);
  std::string unique;
  for (int i = 0; unique.empty() || graph->library()->Contains(unique); ++i) {
    unique = absl::StrCat("__", name, "_", i);
  }
  tensorflow::FunctionDefLibrary added;
  RETURN_IF_ERROR(ExportFunction({.name = unique,
                                  .graph = part.graph.get(),
                                  .args = part.args,
                                  .results = part.results,
                                  .control_results = part.control_results},
                                 added.add_function()));
  ASSIGN_OR_RETURN(auto library, graph->library()->Extended(added));
  graph->set_library(std::move(library));
  return FunctionRef{.name = unique};
}

}  // namespace tessera
