// Shapes and indices that are computed at run time, as far as they are known before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/graph/graph.h"

namespace tessera {

// An integer: a number, or a number added to one that only the run knows.
struct IndexItem {
  Endpoint base;  // the only element of a tensor; no node for a plain number
  int64_t number = 0;

  bool is_number() const { return base.node == nullptr; }
  friend bool operator==(const IndexItem&, const IndexItem&) = default;
};

// Returns the limit of a scalar that is known to lie in [0, limit); nullopt for all others.
using IndexLimit = std::function<std::optional<int64_t>(const Endpoint& base)>;

// Returns the elements of a scalar or vector of int32 or int64. Reads through reshapes,
// concatenations, sums, differences, and bounds that a scalar with a limit keeps by itself. Returns
// nullopt if other ops compute an element, or if the number of elements is not known.
std::optional<std::vector<IndexItem>> IndexItems(const Endpoint& value, const IndexLimit& limit_of);

}  // namespace tessera
