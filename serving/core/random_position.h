// Positions in [0, 1) by which shares of the requests are drawn: a share p has those below p.
#pragma once

#include <cstdint>

#include "serving/core/stable_hash.h"

namespace tessera::serving {

// Maps all values evenly to [0, 1).
inline double PositionOf(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Returns a random position. SplitMix64 with a state of its own for each thread; not for secrets.
inline double RandomPosition() {
  thread_local uint64_t state = MixBits(reinterpret_cast<uintptr_t>(&state));
  state += 0x9E3779B97F4A7C15;
  return PositionOf(MixBits(state));
}

}  // namespace tessera::serving
