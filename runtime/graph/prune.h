// Reduces a graph to the nodes that a run with given feeds and fetches needs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

// The signature of a run: what it feeds, fetches and targets. Feeds and fetches are names of
// tensors ("node:index"), targets are names of nodes. The session caches compiled steps by their
// signature.
struct RunSignature {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  friend bool operator==(const RunSignature&, const RunSignature&) = default;
};

// A copy of the graph for one signature. Each fed tensor is an `_Arg` node and each fetch a
// `_Retval` node, as in FunctionBody. Nodes that neither a fetch nor a target needs are removed.
struct PrunedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;     // in the order of the feeds
  std::vector<Node*> results;  // in the order of the fetches
  std::vector<Node*> targets;
};

// Errors: NOT_FOUND for a feed, fetch or target that is not in the graph; INVALID_ARGUMENT for a
// tensor that is fed twice.
absl::StatusOr<PrunedGraph> Prune(const Graph& graph, const RunSignature& signature);

}  // namespace tessera
