// Vectors of the kernels of panels: loads of weights and how sums are stored. For files that are
// compiled for AVX-512, each with flags of its own: so all is static, that the linker takes none
// for another's.
#pragma once

#include <immintrin.h>

#include <limits>

#include "runtime/kernels/primitives/cpu/panel_kernel.h"

namespace tessera::panel {

// Lanes [0, count) of a vector.
static inline __mmask16 First(int64_t count) {
  return count >= 16 ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}

// The lanes of `mask` of 16 floats that begin `step` apart, the others 0.
static inline __m512 Load(const float* from, int64_t step, __mmask16 mask) {
  if (step == 1) return _mm512_maskz_loadu_ps(mask, from);
  alignas(64) float values[16] = {};
  for (int64_t i = 0; i < 16; ++i) {
    if (mask >> i & 1) values[i] = from[i * step];
  }
  return _mm512_load_ps(values);
}

// A sum ended as `ending` says, but for its activation; the value that is added to is at `to`.
static inline __m512 Ended(const Ending& ending, __m512 sum, __m512 bias, __mmask16 mask,
                           const float* to) {
  sum = _mm512_add_ps(sum, bias);
  if (ending.add) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, to));
  // A NaN is the second operand, and stays.
  return _mm512_min_ps(_mm512_set1_ps(ending.high), _mm512_max_ps(_mm512_set1_ps(ending.low), sum));
}

// The bias of the columns of `mask` from `column` on, or zeros.
static inline __m512 BiasOf(const Ending& ending, int64_t column, __mmask16 mask) {
  return ending.bias == nullptr ? _mm512_setzero_ps()
                                : _mm512_maskz_loadu_ps(mask, ending.bias + column);
}

// Ends sums as `ending` says. With kInPlace the values stay in `sums`, else they go to their
// places.
template <bool kInPlace>
static void Finish(const Ending& ending, int64_t count, int64_t columns, const int64_t* places,
                   float* out, float* sums) {
  for (int64_t half = 0; half * 16 < columns && half < 2; ++half) {
    const __mmask16 mask = First(columns - half * 16);
    const __m512 bias = BiasOf(ending, half * 16, mask);
    for (int64_t i = 0; i < count; ++i) {
      if (places[i] < 0) continue;
      float* const sum = sums + i * kBlock + half * 16;
      float* const to = out + places[i] + half * 16;
      const __m512 x = Ended(ending, _mm512_load_ps(sum), bias, mask, to);
      kInPlace ? _mm512_store_ps(sum, x) : _mm512_mask_storeu_ps(to, mask, x);
    }
  }
}

// Ends and stores `count` rows of sums, kBlock each, in the columns of one panel of `columns` in
// all. Arguments as MultiplyBlock()'s.
static inline void StoreBlock(const Ending& ending, int64_t panel, int64_t count, int64_t columns,
                              const int64_t* places, float* out, float* sums) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  columns -= panel * kBlock;
  Ending end = ending;
  if (end.bias != nullptr) end.bias += panel * kBlock;
  out += panel * kBlock;
  if (end.activate != nullptr) {
    Finish<true>(end, count, columns, places, out, sums);
    end.activate(end.alpha, sums, count * kBlock);
    end = Ending{.low = -kInfinity, .high = kInfinity};
  }
  Finish<false>(end, count, columns, places, out, sums);
}

}  // namespace tessera::panel
