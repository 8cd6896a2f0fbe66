// The iterators from which a program's step takes data of its own.
#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/prune.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// Fills program->iterators, and adds the nodes that restore them to `graph`. `step` is a run of the
// program's step. Leaves the list empty if the step also takes data from something whose place
// nobody can save: a position of some of the data alone would tear them apart.
absl::Status AddStateIterators(const RunSignature& step, Graph* graph, TrainingProgram* program);

}  // namespace tessera
