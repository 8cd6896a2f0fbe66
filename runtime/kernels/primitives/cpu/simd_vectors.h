// Vectors of floats, as wide as those of the instruction set that the including file is compiled
// for. Everything is static: the linker must not merge one file's code with another's.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "runtime/kernels/primitives/cpu/vector_abi.h"

namespace tessera {

#ifdef __AVX512F__
typedef float Vector __attribute__((vector_size(64)));
#else
typedef float Vector __attribute__((vector_size(32)));
#endif
static constexpr int kLanes = sizeof(Vector) / sizeof(float);

// The bits of floats.
typedef uint32_t Words __attribute__((vector_size(sizeof(Vector))));
static inline Words BitsOf(Vector x) { return reinterpret_cast<Words>(x); }

// Broadcast() sets every lane to `x`. LoadFirst() and StoreFirst() touch the first `count` floats
// alone, where `count` is at most kLanes. The other lanes of a loaded vector are 0. Max() and Min()
// return their second operand if either is NaN.
#ifdef __AVX512F__
static inline Vector Load(const float* from) { return _mm512_loadu_ps(from); }
static inline void Store(Vector vector, float* to) { _mm512_storeu_ps(to, vector); }
static inline Vector Broadcast(float x) { return _mm512_set1_ps(x); }
static inline __mmask16 FirstLanes(int64_t count) {
  return static_cast<__mmask16>((1u << count) - 1);
}
static inline Vector LoadFirst(const float* from, int64_t count) {
  return _mm512_maskz_loadu_ps(FirstLanes(count), from);
}
static inline void StoreFirst(Vector vector, float* to, int64_t count) {
  _mm512_mask_storeu_ps(to, FirstLanes(count), vector);
}
static inline Vector Max(Vector a, Vector b) { return _mm512_max_ps(a, b); }
static inline Vector Min(Vector a, Vector b) { return _mm512_min_ps(a, b); }
#else
static inline Vector Load(const float* from) { return _mm256_loadu_ps(from); }
static inline void Store(Vector vector, float* to) { _mm256_storeu_ps(to, vector); }
static inline Vector Broadcast(float x) { return _mm256_set1_ps(x); }
static inline __m256i FirstLanes(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline Vector LoadFirst(const float* from, int64_t count) {
  return _mm256_maskload_ps(from, FirstLanes(count));
}
static inline void StoreFirst(Vector vector, float* to, int64_t count) {
  _mm256_maskstore_ps(to, FirstLanes(count), vector);
}
static inline Vector Max(Vector a, Vector b) { return _mm256_max_ps(a, b); }
static inline Vector Min(Vector a, Vector b) { return _mm256_min_ps(a, b); }
#endif

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
