// The shapes of all values of a graph, as far as they are known before the run.
#pragma once

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Runs the ops' shape functions once over the whole graph. The shapes belong to the graph as it was
// then; nodes that were added later have unknown shapes.
class InferredShapes {
 public:
  // `order` holds the nodes of an acyclic graph, each one after those it depends on.
  explicit InferredShapes(const std::vector<Node*>& order);

  // Returns the shape of an output, or one of unknown rank.
  const PartialShape& of(const Node& node, int output) const;
  const PartialShape& of(const Endpoint& value) const { return of(*value.node, value.index); }

 private:
  // The shapes of known rank, by node and output.
  absl::flat_hash_map<std::pair<const Node*, int>, PartialShape> shapes_;
};

}  // namespace tessera
