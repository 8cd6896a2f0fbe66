// Puts calls of a random case into functions, as the body of a call, a branch or a loop.
#pragma once

#include <map>
#include <string>

#include "runtime/tensor/shape.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tests/random_cases/random.h"

namespace tessera {

// Moves some of the calls of `graph`, a case of random_graph.h, into a function, and adds an op
// that runs it: a call, a conditional whose branches differ, or a loop, which gives to the next
// round what fits of the results. `number` makes the names of functions unique in the graph.
// `shapes` has the known shapes of outputs of calls. Changes nothing if no calls can be moved.
void OutlineSomeCalls(Random& random, int number, const std::map<std::string, Shape>& shapes,
                      tensorflow::GraphDef* graph);

}  // namespace tessera
