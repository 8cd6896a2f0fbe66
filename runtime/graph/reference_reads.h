// Reads of v1 variables, which are reference edges.
#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Makes nodes that run behind a write of a v1 variable see what was written.
//
// An Identity of a reference gives the value that the variable has when the Identity runs. In
// TensorFlow it gives the variable's buffer, in which updates happen in place, so that a node which
// is ordered behind an update sees it even if the Identity ran before: moving averages are
// computed so. Here, such a node gets an Identity of its own, behind those of its inputs that wait
// for a write. The value is followed into branches and loops (through Identity, Switch and constant
// Enter nodes), and so is the reference to the writers; one that has gone through a Merge, or is a
// variable of a loop, stays what it was. Where no order is given, TensorFlow's result depends on
// luck, and nothing changes here.
absl::Status ReadReferencesBehindWrites(Graph* graph);

}  // namespace tessera
