// Variables in the style of TF1: reference and resource variables by one interface, those that a
// graph has and those that training adds.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/training/gradients/graph_builder.h"

namespace tessera {

bool IsVariable(const Node& node);
inline bool IsResourceVariable(const Node& node) { return node.IsOp("VarHandleOp"); }

// The dtype and the shape that a variable declares; kInvalid and unknown for other nodes.
DType VariableDType(const Node& variable);
PartialShape VariableShape(const Node& variable);

// Returns the value of a variable: of a resource variable by a new node.
Expr ReadVariable(GraphBuilder& build, Node* variable);

// Adds a node that changes a variable: "Assign", "AssignAdd" or "AssignSub", for a resource
// variable the op of the same effect. Returns null after an error.
Node* UpdateVariable(GraphBuilder& build, absl::string_view update, Node* variable,
                     const Expr& value);

// Returns the shape of a variable: that of its first value if it does not declare all of it.
// Errors: those of FindInitializer().
absl::StatusOr<Expr> DimensionsOf(GraphBuilder& build, const Node& variable);
// Returns zeros of the dtype and the shape of a variable. Errors: those of DimensionsOf().
absl::StatusOr<Expr> ZerosOf(GraphBuilder& build, const Node& variable);

// A variable that training adds, such as a slot of an optimizer.
struct AddedVariable {
  Node* variable = nullptr;
  Node* initializer = nullptr;  // assigns the first value
};

// Adds a variable with the first value `value` and the declared shape `shape`. It is a resource or
// a reference as `is_resource` says. Names are as TensorFlow gives them: NAME, NAME/Assign.
// Errors: ALREADY_EXISTS if the graph has a node of this name.
absl::StatusOr<AddedVariable> AddVariable(Graph* graph, const std::string& name, bool is_resource,
                                          const PartialShape& shape, const Expr& value,
                                          const std::string& device = "");

// Finds the node that gives a variable its first value: NAME/Assign, or else the only node that
// assigns it outside of a saver's.
// Errors: INVALID_ARGUMENT, with the remedy, if there is none.
absl::StatusOr<Node*> FindInitializer(const Graph& graph, const Node& variable);

}  // namespace tessera
