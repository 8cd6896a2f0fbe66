// The objects whose variables an object-based checkpoint holds, as tf.train.Checkpoint has them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

// The key under which an object-based checkpoint has its object graph, a serialised
// TrackableObjectGraph.
inline constexpr absl::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

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
