// Vectors of floats, as wide as those of the instruction set that the including file is compiled
// for. Everything is static: the linker must not merge one file's code with another's.
#pragma once

#include <cstring>
#include <utility>

namespace tessera {

#ifdef __AVX512F__
typedef float Vector __attribute__((vector_size(64)));
#else
typedef float Vector __attribute__((vector_size(32)));
#endif
static constexpr int kLanes = sizeof(Vector) / sizeof(float);

static inline Vector Load(const float* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}

static inline void Store(Vector vector, float* to) { std::memcpy(to, &vector, sizeof(vector)); }

// Returns the vector whose lane i is lane i ^ kDistance of `x`.
template <int kDistance, int... kLane>
static inline Vector ExchangeLanes(Vector x, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(x, x, (kLane ^ kDistance)...);
}

// Reduces all lanes with `reduce`. Every lane of the result holds the reduced value.
template <int kHalf = kLanes / 2, typename Reduce>
static inline Vector ReduceLanes(Vector x, Reduce reduce) {
  if constexpr (kHalf == 0) {
    return x;
  } else {
    const Vector other = ExchangeLanes<kHalf>(x, std::make_integer_sequence<int, kLanes>());
    return ReduceLanes<kHalf / 2>(reduce(x, other), reduce);
  }
}

// Returns the sum of all lanes, in every lane.
static inline Vector SumOfLanes(Vector x) {
  return ReduceLanes(x, [](Vector a, Vector b) { return a + b; });
}

}  // namespace tessera
