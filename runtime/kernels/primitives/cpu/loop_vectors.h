// Vectors of floats as wide as the instruction set has them that a file is compiled for. All is
// static, that the linker takes nothing for another file's.
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

// reduce() of all lanes, in each lane.
template <typename Reduce>
static inline Vector Everywhere(Vector x, Reduce reduce) {
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) {
    x = reduce(x, __builtin_shuffle(x, kLaneNumbers ^ half));
  }
  return x;
}

// The sum of all lanes, in each lane.
static inline Vector SumOfLanes(Vector x) {
  return Everywhere(x, [](Vector a, Vector b) { return a + b; });
}

}  // namespace tessera
