// The shapes of a graph's tensors, as far as they are known before it runs.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace tessera {

// The shapes that shape functions infer for a graph as it is when this object is made, which
// formulas use to leave out work that would do nothing. A value type; empty by default.
class StaticShapes {
 public:
  StaticShapes() = default;
  explicit StaticShapes(const Graph& graph);

  // Returns a shape of unknown rank for a tensor of which nothing is known.
  PartialShape Of(const Endpoint& endpoint) const;

 private:
  void Infer(const Node& node);

  std::vector<std::vector<PartialShape>> shapes_;  // by node id and output
};

}  // namespace tessera
