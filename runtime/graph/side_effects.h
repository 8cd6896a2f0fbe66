// Which nodes do more than compute outputs.
#pragma once

#include "absl/strings/string_view.h"
#include "runtime/graph/graph.h"

namespace tessera {

// True if running the node can be noticed by something other than the users of its outputs: it
// writes a variable, a table, a queue, a file, prints, or fails on purpose (Assert, CheckNumerics).
// Such a node of a function body runs in every call; in a session's graph, only if a fetch or a
// target depends on it. A node that names functions (a call, If, While) has the side effects of
// those, as far as `library`, if given, knows them; without it all that may have some do.
bool HasSideEffect(const Node& node, const FunctionLibrary* library = nullptr);

// The same for an op by itself: whether nodes of it have side effects of their own, leaving
// functions that they name aside.
bool OpHasSideEffect(const OpDef& op);
// True for ops that do nothing but call the functions that their attributes name: If, While, calls.
bool OnlyCallsFunctions(absl::string_view op_name);

// True if the outputs depend on nothing but inputs and attributes: not on state, time, chance, or
// the frame of a v1 loop. Nodes with reference inputs or outputs are never pure, nor are calls of
// functions, whose bodies may do anything, nor stand-ins of unknown ops.
bool IsPure(const Node& node);

}  // namespace tessera
