// The nodes by which a program's variables are read and written from outside.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// Adds nodes that read and assign the variable of `handle`, a VarHandleOp, VariableV2 or Variable
// node of `graph`. The result has the node's name as its key.
// Errors: INVALID_ARGUMENT for a node of another op.
absl::StatusOr<StateVariable> AddStateVariable(Graph* graph, Node* handle);

}  // namespace tessera
