// ThreeFry 2x32 with 20 rounds, a counter-based random number generator.
//
// J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
#pragma once

#include <bit>
#include <cstdint>

namespace tessera {

// The 64 bits that `key` makes of `counter`; the block's first word is their lower half.
inline uint64_t ThreeFry(uint64_t key, uint64_t counter) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  const uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  uint32_t x0 = static_cast<uint32_t>(counter) + keys[0];
  uint32_t x1 = static_cast<uint32_t>(counter >> 32) + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, rotation) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return x0 | uint64_t{x1} << 32;
}

}  // namespace tessera
