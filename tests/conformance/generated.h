// The numbers of tests/conformance/generated.py, which has their definition.
#pragma once

#include <cstdint>

namespace tessera {

inline uint64_t GeneratedBits(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9E3779B97F4A7C15 + i;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// In [offset - scale, offset + scale). The product is exact in double, so that it makes no
// difference whether the compiler fuses it with the sum.
inline float GeneratedReal(uint64_t seed, uint64_t i, float offset, float scale) {
  const double u = static_cast<double>(GeneratedBits(seed, i) >> 40) / (1 << 23) - 1;
  return static_cast<float>(double{offset} + double{scale} * u);
}

// In [0, limit).
inline int64_t GeneratedInteger(uint64_t seed, uint64_t i, int64_t limit) {
  return static_cast<int64_t>((GeneratedBits(seed, i) >> 40) % static_cast<uint64_t>(limit));
}

// +1 or -1.
inline double GeneratedSign(uint64_t seed, uint64_t i) {
  return GeneratedBits(seed, i) >> 63 == 0 ? 1 : -1;
}

}  // namespace tessera
