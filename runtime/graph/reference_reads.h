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
// computed so. Here, such a node gets an Identity of its own, behind the writes that it waits for.
// Where no order is given, TensorFlow's result depends on luck, and nothing changes here. Nodes in
// another loop than the variable keep their Identity.
absl::Status ReadReferencesBehindWrites(Graph* graph);

}  // namespace tessera
