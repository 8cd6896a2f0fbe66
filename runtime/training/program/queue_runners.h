// Queue runners of TF1's graphs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/training/program/training_program.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace tessera {

// Returns what the collection "queue_runners" of a graph lists. Errors: DATA_LOSS if it is damaged,
// INVALID_ARGUMENT for a node that the graph does not have.
absl::StatusOr<std::vector<QueueRunner>> QueueRunnersOf(const tensorflow::MetaGraphDef& meta_graph,
                                                        const Graph& graph);

}  // namespace tessera
