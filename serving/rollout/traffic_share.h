// Which requests belong to a share of the traffic. Each request has a position in [0, 1), and the
// share p has those below p. A client with a key keeps its position, so it stays in the share as
// that grows.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "serving/core/stable_hash.h"

namespace tessera::serving {

// Maps all values evenly to [0, 1).
inline double PositionOf(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Returns the position of a client's key. It is the same on all servers, and differs between
// models, so that it is not always the same clients who get new versions first.
inline double StickyPosition(absl::string_view model, absl::string_view key) {
  return PositionOf(StableHash(StableHash(0, model), key));
}

// Returns a random position. SplitMix64 with a state of its own for each thread; not for secrets.
inline double RandomPosition() {
  thread_local uint64_t state = MixBits(reinterpret_cast<uintptr_t>(&state));
  state += 0x9E3779B97F4A7C15;
  return PositionOf(MixBits(state));
}

}  // namespace tessera::serving
