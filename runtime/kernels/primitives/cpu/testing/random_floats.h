// Reproducible random numbers for tests and benchmarks.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace tessera {

// Returns floats that are normally distributed around `mean` with a standard deviation of 1.
inline std::vector<float> RandomFloats(int64_t count, int seed, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean);
  std::vector<float> values(count);
  for (float& x : values) x = normal(random);
  return values;
}

}  // namespace tessera
