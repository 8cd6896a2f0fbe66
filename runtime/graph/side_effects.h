// Tells which nodes do more than compute outputs, by the traits of their ops
// (framework/op_traits.h).
#pragma once

#include "runtime/graph/graph.h"

namespace tessera {

// Returns true if something other than the users of its outputs can notice that the node ran: it
// writes a resource or the outside, or fails on purpose. Such a node of a function body runs in
// every call; in a session's graph, it runs only if a fetch or a target depends on it. A node that
// calls functions has the side effects of those functions, as far as `library` knows them. Without
// a library, every stateful call counts as one with side effects.
bool HasSideEffect(const Node& node, const FunctionLibrary* library = nullptr);

// Returns whether nodes of the op have side effects of their own, leaving the functions that they
// call aside.
bool OpHasSideEffect(const OpDef& op);

// Returns true if the node must stay behind the nodes with side effects that it waits for, since
// its outputs or its own effect may depend on theirs. Calls of functions count as such, and so do
// all nodes with side effects and all v1 control flow.
bool DependsOnState(const Node& node);

// Returns true if the outputs depend on inputs and attributes alone: the node may be folded into a
// constant, or merged with another of the same inputs and attributes. No stateful node is pure, nor
// is a node that names functions or gives what the caller fed.
bool IsPure(const Node& node);

}  // namespace tessera
