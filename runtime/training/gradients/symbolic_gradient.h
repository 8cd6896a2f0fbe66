// SymbolicGradient, the op that computes the gradient of a function of the graph.
#pragma once

#include <memory>

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

class FunctionLibrary;

// Returns true if the graph or one of its functions has a node of the op.
bool HasSymbolicGradient(const tensorflow::GraphDef& graph_def);

// Replaces every SymbolicGradient of the graph and of its functions by a call of a new function,
// which takes the arguments of the differentiated function and the gradients of its results, and
// gives the gradients of the arguments: zeros where an argument has none, such as an integer. A
// function with a gradient function of its own in the library has that one called. `known` are
// functions that the graph may name besides its own; it may be null.
//
// A node whose function cannot be differentiated stays as it is, and gets an attribute
// `_unsupported` that says why: only a run that needs it fails.
void ExpandSymbolicGradients(std::shared_ptr<const FunctionLibrary> known,
                             tensorflow::GraphDef* graph_def);

}  // namespace tessera
