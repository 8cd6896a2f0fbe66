// Finds the branches of v1 conditions that nodes belong to. A Switch opens a branch for each of its
// outputs, and a Merge closes both.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/graph.h"

namespace tessera {

// A branch of a condition: its nodes are alive when `predicate` equals `taken`.
struct ConditionBranch {
  Endpoint predicate;
  bool taken = false;
  friend bool operator==(const ConditionBranch&, const ConditionBranch&) = default;
};

// Describes a graph as it is when this object is made. Thread-safe.
class ConditionContexts {
 public:
  explicit ConditionContexts(const Graph& graph);

  // Returns the branches that a tensor is in, from the outermost. Empty for nodes that were added
  // later.
  std::vector<ConditionBranch> Of(const Endpoint& endpoint) const;
  // Returns the branch that gives input 0 of a Merge; input 1 comes from the other one. Nothing for
  // a Merge that heads a loop, or whose branches cannot be told.
  std::optional<ConditionBranch> FirstInputOf(const Node& merge) const;

 private:
  void Visit(const Node& node);

  std::vector<std::vector<ConditionBranch>> of_node_;  // by id
};

}  // namespace tessera
