// Queue runners of TF1's graphs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace tessera {

// How a queue of TF1's input pipelines is filled: by runs of its enqueue ops over and over, each op
// on a thread of its own, until they tell that there is nothing more. Then the queue is closed.
struct QueueRunner {
  std::string queue;                 // its node
  std::vector<std::string> enqueue;  // targets of the runs
  std::string close, cancel;         // targets that close the queue, the second one at once
  // The errors with which runs of `enqueue` say that there is nothing more.
  std::vector<absl::StatusCode> end_codes;
};

// Returns what the collection "queue_runners" of a graph lists. Errors: DATA_LOSS if it is damaged,
// INVALID_ARGUMENT for a node that the graph does not have.
absl::StatusOr<std::vector<QueueRunner>> QueueRunnersOf(const tensorflow::MetaGraphDef& meta_graph,
                                                        const Graph& graph);

}  // namespace tessera
