// Reverse-mode differentiation of a graph: adds the nodes that compute gradients.
//
//   std::unique_ptr<Graph> graph = *ImportGraph(graph_def);
//   const Endpoint loss = *graph->FindEndpoint("loss:0");
//   const Endpoint weights = *graph->FindEndpoint("dense/kernel:0");  // a variable or a handle
//   ASSIGN_OR_RETURN(std::vector<Gradient> gradients,
//                    AddGradients(graph.get(), {loss}, {weights}));
//   if (gradients[0].is_sparse()) {
//     ... gradients[0].values, .indices: slices of the gradient, as an embedding has
//   } else if (!gradients[0].is_none()) {
//     ... gradients[0].values: the gradient, of the shape of the weights
//   }
//   // Now ExportGraph() it, or run it in a session and fetch TensorName(gradients[0].values).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Returns whether tensors of this dtype have gradients: complex ones, and floating ones of 16 bits
// and more, as in TensorFlow. Handles have those of their variables.
bool HasGradients(DType dtype);

// The gradient with respect to one tensor: none, dense, or sparse. A sparse gradient is a list of
// slices along the first dimension; slices of one index add up (tf.IndexedSlices).
struct Gradient {
  Endpoint values;       // dense: the gradient; sparse: the slices, [n, ...]
  Endpoint indices;      // sparse: the index of each slice, [n], int32 or int64
  Endpoint dense_shape;  // sparse: the shape of the dense gradient, int32 or int64

  bool is_none() const { return values.node == nullptr; }
  bool is_sparse() const { return indices.node != nullptr; }
};

// The result of AddGradients() for an x on which no y depends.
enum class UnconnectedGradients {
  kNone,  // no gradient
  kZero,  // zeros of the shape of x; of the variable's value if x is a handle of a variable
};

struct GradientOptions {
  UnconnectedGradients unconnected = UnconnectedGradients::kNone;
  // Tensors that count as constants: no gradient flows through them.
  std::vector<Endpoint> stop_gradients;
  // Chooses nodes of the forward graph whose outputs the backward pass computes again instead of
  // keeping them, which saves memory at the cost of time. A chosen node must be pure (see
  // IsPure() in runtime/graph/side_effects.h); others are kept in spite of the choice. Null: none.
  std::function<bool(const Node&)> recompute;
  // Names of new nodes start with this and a slash. If nodes of this prefix exist, a number is
  // appended.
  std::string name = "gradients";
};

// Adds nodes to `graph` that compute the sum over all ys of the derivative of y with respect to
// each of `xs`, and returns a gradient for each x, in their order. `grad_ys` are the gradients that
// come in for `ys`, of the same dtypes and shapes; it is empty, or an entry without a node stands
// for ones.
//
// An x may be any tensor of a dtype that has gradients, a reference to a variable, or the handle of
// a resource variable. The gradient with respect to a handle is that of the variable's value.
// Sparse gradients come from Gather, GatherV2 and ResourceGather, and go through Identity and its
// kin; everywhere else they become dense.
//
// Gradients flow through calls of functions, If, Case and While, through the loops and conditions
// of v1 control flow, through TensorArray and TensorList. Where the backward pass needs a value
// from inside a function or a loop, the forward pass is changed to keep it: a call gets more
// results, a loop pushes to stacks or lists. Forward nodes keep their names, inputs and outputs,
// but a call, If, Case or While that gradients flow through is replaced by a new node of its name,
// with more outputs; Endpoints of such nodes must be looked up again. The graph's library gets more
// functions.
//
// Errors: UNIMPLEMENTED naming the node, for an op on the way from xs to ys that has no gradient;
// INVALID_ARGUMENT for ends that are not in the graph, dtypes without gradients, and grad_ys that
// do not fit ys; errors of functions that cannot be instantiated. After an error the graph is fit
// for nothing but destruction.
absl::StatusOr<std::vector<Gradient>> AddGradients(Graph* graph, const std::vector<Endpoint>& ys,
                                                   const std::vector<Endpoint>& xs,
                                                   const std::vector<Endpoint>& grad_ys = {},
                                                   const GradientOptions& options = {});

// Adds nodes that turn a sparse gradient into a dense one, and returns it. Returns a dense gradient
// as it is. Errors: INVALID_ARGUMENT for none.
absl::StatusOr<Endpoint> AddDenseGradient(Graph* graph, const Gradient& gradient);

}  // namespace tessera
