#include "runtime/training/program/training_variables.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

bool IsAssign(const Node& node) { return node.IsOp("Assign") || node.IsOp("AssignVariableOp"); }

// Returns whether a value comes from a checkpoint.
bool IsRestored(const Node* value) {
  while (value != nullptr && value->IsOp("Identity")) value = value->input(0).node;
  return value != nullptr && value->IsOp("RestoreV2");
}

}  // namespace

bool IsVariable(const Node& node) {
  return IsResourceVariable(node) || node.IsOp("VariableV2") || node.IsOp("Variable");
}

DType VariableDType(const Node& variable) {
  return variable.attr<DType>("dtype").value_or(DType::kInvalid);
}

PartialShape VariableShape(const Node& variable) {
  return variable.attr<PartialShape>("shape").value_or(PartialShape());
}

Expr ReadVariable(GraphBuilder& build, Node* variable) {
  const Expr handle = build.Of({variable, 0});
  if (!IsResourceVariable(*variable)) return handle;
  return build.Output(
      build.AddNode("ReadVariableOp", {handle}, {{"dtype", VariableDType(*variable)}}));
}

Node* UpdateVariable(GraphBuilder& build, absl::string_view update, Node* variable,
                     const Expr& value) {
  const Expr handle = build.Of({variable, 0});
  if (!IsResourceVariable(*variable)) return build.AddNode(update, {handle, value});
  return build.AddNode(absl::StrCat(update, "VariableOp"), {handle, value});
}

absl::StatusOr<AddedVariable> AddVariable(Graph* graph, const std::string& name, bool is_resource,
                                          const PartialShape& shape, const Expr& value,
                                          const std::string& device) {
  AttrMap attrs = {{"dtype", value.dtype()}, {"shape", shape}};
  if (is_resource) attrs["shared_name"] = name;
  AddedVariable added;
  ASSIGN_OR_RETURN(added.variable, graph->AddNode(name, is_resource ? "VarHandleOp" : "VariableV2",
                                                  std::move(attrs), device));
  const std::vector<Endpoint> inputs = {{added.variable, 0}, value.endpoint()};
  AttrMap assign_attrs = {{is_resource ? "dtype" : "T", value.dtype()}};
  ASSIGN_OR_RETURN(added.initializer, graph->AddNode(absl::StrCat(name, "/Assign"),
                                                     is_resource ? "AssignVariableOp" : "Assign",
                                                     std::move(assign_attrs), inputs, device));
  return added;
}

absl::StatusOr<Node*> FindInitializer(const Graph& graph, const Node& variable) {
  const auto assigns = [&](const Node* node) {
    return node != nullptr && IsAssign(*node) && node->input(0).node == &variable;
  };
  Node* const named = graph.FindNode(absl::StrCat(variable.name(), "/Assign"));
  if (assigns(named)) return named;
  std::vector<Node*> found;
  for (const Use& use : variable.uses(0)) {
    if (use.index == 0 && assigns(use.node) && !IsRestored(use.node->input(1).node)) {
      found.push_back(use.node);
    }
  }
  if (found.size() == 1) return found.front();
  return absl::InvalidArgumentError(absl::StrCat(
      "variable '", variable.name(), "' has no initializer: there is ",
      found.empty() ? "no node" : "more than one node", " that assigns it, and none is named '",
      variable.name(), "/Assign'; name the op that initialises all variables by graph.init_op"));
}

absl::StatusOr<Expr> DimensionsOf(GraphBuilder& build, const Node& variable) {
  const PartialShape shape = VariableShape(variable);
  if (shape.IsFullyDefined()) return build.Constant(Tensor::Vector<int64_t>(shape.dims()));
  ASSIGN_OR_RETURN(const Node* const initializer, FindInitializer(*build.graph(), variable));
  return ShapeOf(build.Of(initializer->input(1)), DType::kInt64);
}

absl::StatusOr<Expr> ZerosOf(GraphBuilder& build, const Node& variable) {
  ASSIGN_OR_RETURN(const Expr dims, DimensionsOf(build, variable));
  const Expr zeros = Call("Fill", {dims, build.Scalar(VariableDType(variable), 0)});
  RETURN_IF_ERROR(build.status());
  return zeros;
}

}  // namespace tessera
