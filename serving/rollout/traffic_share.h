// Decides which requests belong to a share of the traffic. Each request has a position in [0, 1),
// and the share p has those below p. A client with a key keeps its position, so it stays in the
// share as that grows.
#pragma once

#include "absl/strings/string_view.h"
#include "serving/core/random_position.h"
#include "serving/core/stable_hash.h"

namespace tessera::serving {

// Returns the position of a client's key. It is the same on all servers, and differs between
// models, so that it is not always the same clients who get new versions first.
inline double StickyPosition(absl::string_view model, absl::string_view key) {
  return PositionOf(StableHash(StableHash(0, model), key));
}

}  // namespace tessera::serving
