// Makes object graphs for tests: training copies the graph of the model that it trains.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tessera {

// A variable by its place among the objects.
struct TrackableVariable {
  // "model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE": the names of the objects from the root on, and
  // of the attribute. In names of objects "/" is written ".S", and "." is written "..".
  std::string key;
  std::string full_name;  // in a name-based checkpoint; may be empty
};

// Returns the object graph, serialised, of a tree of objects that have these variables. Errors:
// INVALID_ARGUMENT for a key of another form.
absl::StatusOr<std::string> MakeObjectGraph(absl::Span<const TrackableVariable> variables);

}  // namespace tessera
