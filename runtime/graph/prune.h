// Cuts a graph down to what one kind of run needs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// One kind of run, by tensor names ("node:index") and, for targets, node names. The key of the
// executor cache.
struct RunSignature {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  friend bool operator==(const RunSignature&, const RunSignature&) = default;
};

// A copy of the graph for one signature: each fed tensor is an `_Arg` node, each fetch a `_Retval`
// node, as in FunctionBody; everything that fetches and targets do not need is gone.
struct PrunedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;     // in order of feeds
  std::vector<Node*> results;  // in order of fetches
  std::vector<Node*> targets;
};

// Errors: NOT_FOUND naming a feed, fetch or target that is not in the graph; INVALID_ARGUMENT for
// one fed twice.
absl::StatusOr<PrunedGraph> Prune(const Graph& graph, const RunSignature& signature);

}  // namespace tessera
