// Vectors of floats, as wide as those of the instruction set that the including file is compiled
// for. Everything is static: the linker must not merge one file's code with another's.
#pragma once

#include <cstdint>
#include <cstring>

namespace tessera {

#ifdef __AVX512F__
typedef float Vector __attribute__((vector_size(64)));
typedef int32_t LaneNumbers __attribute__((vector_size(64)));
static constexpr LaneNumbers kLaneNumbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#else
typedef float Vector __attribute__((vector_size(32)));
typedef int32_t LaneNumbers __attribute__((vector_size(32)));
static constexpr LaneNumbers kLaneNumbers = {0, 1, 2, 3, 4, 5, 6, 7};
#endif
static constexpr int kLanes = sizeof(Vector) / sizeof(float);

static inline Vector Load(const float* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}

static inline void Store(Vector vector, float* to) { std::memcpy(to, &vector, sizeof(vector)); }

// Reduces all lanes with `reduce`. Every lane of the result holds the reduced value.
template <typename Reduce>
static inline Vector ReduceLanes(Vector x, Reduce reduce) {
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) {
    x = reduce(x, __builtin_shuffle(x, kLaneNumbers ^ half));
  }
  return x;
}

// Returns the sum of all lanes, in every lane.
static inline Vector SumOfLanes(Vector x) {
  return ReduceLanes(x, [](Vector a, Vector b) { return a + b; });
}

}  // namespace tessera
