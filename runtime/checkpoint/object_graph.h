// The objects whose variables an object-based checkpoint holds, as tf.train.Checkpoint has them.
#pragma once

#include "absl/strings/string_view.h"

namespace tessera {

// The key under which an object-based checkpoint has its object graph, a serialised
// TrackableObjectGraph.
inline constexpr absl::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

}  // namespace tessera
