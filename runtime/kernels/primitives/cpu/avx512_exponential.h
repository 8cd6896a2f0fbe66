// Exponentials on AVX-512, which scales by a power of two in one instruction. Only files compiled
// for AVX-512 may include this; see simd_vectors.h.
#pragma once

#include <immintrin.h>

namespace tessera {

// A factor as the sum of two floats, so that products with it keep more bits than a float has.
struct SplitFactor {
  __m512 high, low;
};
static inline SplitFactor SplitOf(double factor) {
  const float high = static_cast<float>(factor);
  return {_mm512_set1_ps(high), _mm512_set1_ps(static_cast<float>(factor - high))};
}

// Returns 2^(factor * x) within 2 units in the last place for the lanes of `mask`, and 0 for the
// others. Requires |factor * x| < 2^21 in the lanes of `mask`. NaN passes through.
static inline __m512 PowerOfTwo(const SplitFactor& factor, __m512 x, __mmask16 mask = 0xffff) {
  // Adding this number rounds to an integer.
  const __m512 rounder = _mm512_set1_ps(12582912.0f);  // 1.5 * 2^23
  // factor * x = n + f, where n is the nearest integer.
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(x, factor.high, rounder), rounder);
  const __m512 f = _mm512_fmadd_ps(x, factor.low, _mm512_fmsub_ps(x, factor.high, n));
  // 2^f by a minimax polynomial.
  constexpr float kPowers[] = {0.00132645911f, 0.00967161916f, 0.0555073507f,
                               0.240222409f,   0.693147004f,   1.0f};
  __m512 power = _mm512_set1_ps(kPowers[0]);
#pragma GCC unroll 5
  for (int i = 1; i < 6; ++i) power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(kPowers[i]));
  return _mm512_maskz_scalef_ps(mask, power, n);
}

}  // namespace tessera
