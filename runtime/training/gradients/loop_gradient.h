// Gradients of v1 loops: Enter, Merge, Switch, NextIteration, Exit.
//
// The forward loop gets a counter, and stacks for the values of its iterations. The backward loop
// counts down; it pops what it needs of an iteration, and its loop variables are the gradients of
// the forward loop's variables and the sums of the gradients of its constants.
#pragma once

#include <functional>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "runtime/training/gradients/differentiation.h"

namespace tessera {

// How the gradient of a loop exchanges gradients with the region around it.
struct LoopBoundary {
  // The nodes on the way from xs to ys.
  const absl::flat_hash_set<Node*>* between = nullptr;
  // Returns the sum of the gradients of an Exit.
  std::function<Gradient(const Endpoint&)> gradient_of;
  // Adds to the gradient of the output of an Enter.
  std::function<void(const Endpoint&, const Gradient&)> add;
};

// Adds the gradient of the loop with index `frame` in differentiation.frames(). Errors are kept by
// differentiation.backward().
void AddLoopGradient(Differentiation& differentiation, int frame, const LoopBoundary& boundary);

}  // namespace tessera
