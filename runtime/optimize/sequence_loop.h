// Recognises While loops over the steps of a sequence, as recurrent layers are exported.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/function.h"
#include "runtime/optimize/index_vector.h"
#include "runtime/optimize/pass.h"

namespace tessera {

// The functions of a While, or StatelessWhile, without calls and without side effects.
struct LoopBody {
  FunctionBody function, condition;
  // The loop variables that the body passes on as they are, and those that count from 0.
  std::vector<bool> is_invariant, is_counter;
};
// Returns the functions of `node`, of a graph with this library; nullopt if it is another op, or if
// they have side effects.
std::optional<LoopBody> AsLoopBody(const Node& node, const FunctionLibrary& library);

// A loop that reads a matrix of its input in each step and writes at most one list of matrices,
// besides lists to which it only adds. Instead of lists there may be tensors, as JAX's scan has
// them (scan_loop.h).
struct SequenceLoop {
  Node* node = nullptr;
  LoopBody body;

  // The loop variables that are nothing of what follows, invariants, or counters.
  std::vector<int> states;

  // The input of the loop: a tensor of the graph, and element `time` of it in the body.
  Endpoint sequence, element;
  // The part of each matrix that a loop over a tensor reads, and the columns of those that it
  // writes, if there are any. Rows are a number, or an invariant scalar of the body.
  struct Window {
    IndexItem rows;
    int64_t columns = 0, written_columns = -1;
  };
  std::optional<Window> window;
  // The output of the loop: the loop variable, -1 if there is none; the value, in the body; the
  // size of the list, in the graph; and whether each step writes to element 0. There is no size of
  // a tensor, which has a matrix for each step.
  int output = -1;
  Endpoint written, size;
  bool last_only = false;
  // A list to which each step adds a value of the body, for the gradient.
  struct Accumulator {
    int variable = -1;
    Endpoint value;
  };
  std::vector<Accumulator> accumulators;
  // The loop runs as often as the smallest of these says: tensors of the graph, or constants.
  struct Limit {
    Endpoint value;  // of the graph; no node if it is a constant
    Tensor constant;
  };
  std::vector<Limit> limits;
};

// Returns the loop that `node`, of a graph with this library, is; nullopt if it is none.
std::optional<SequenceLoop> AsSequenceLoop(Node* node, const FunctionLibrary& library);

// Returns the position of the argument of its function that `value` is; -1: none.
int ArgumentOf(const Endpoint& value);

// Returns what `value` is a copy of.
Endpoint SkipIdentities(Endpoint value);

// True if `value`, in the body, is the same in all steps and can be computed before the loop.
bool IsInvariant(const SequenceLoop& loop, const Endpoint& value);

// Computes an invariant value of the body in the graph, before the loop. Errors: those of
// Graph::AddNode().
absl::StatusOr<Endpoint> HoistInvariant(Graph* graph, const SequenceLoop& loop,
                                        const Endpoint& value);

// Returns the limits of the loop as tensors of the graph. Errors: those of Graph::AddNode().
absl::StatusOr<std::vector<Endpoint>> LimitsOf(Graph* graph, const SequenceLoop& loop);

// Replaces the TensorListStacks of a list that the loop `node` gives by `stacked`. Requires that
// the output has no other uses. Errors: those of Graph::ReplaceUses().
absl::Status ReplaceStacks(Graph* graph, const Node& node, int output, const Endpoint& stacked);

}  // namespace tessera
