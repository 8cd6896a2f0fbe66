#include "runtime/kernels/primitives/cpu/reciprocal.h"

#include <immintrin.h>

namespace tessera {
namespace {

constexpr int64_t kLanes = 8;

// The processor's estimate is refined by two steps of Newton's method with fused multiplication and
// addition, the first one with its quadratic term. The result is the quotient rounded to nearest
// unless all bits of the mantissa of x are set (Markstein, "Computation of elementary functions on
// the IBM RISC System/6000 processor", 1990). Vectors with such a number, or with one whose
// estimate is useless since it or its reciprocal is not a normal number, are divided.
__m256 Refined(__m256 x) {
  constexpr float kUseless = 0.001f;  // estimates are within 2^-11
  const __m256 one = _mm256_set1_ps(1);
  const __m256i all_bits = _mm256_set1_epi32(-1);
  const __m256i sign_and_exponent = _mm256_slli_epi32(all_bits, 23);
  const __m256 estimate = _mm256_rcp_ps(x);
  const __m256 error = _mm256_fnmadd_ps(x, estimate, one);
  const __m256 first = _mm256_fmadd_ps(_mm256_fmadd_ps(error, error, error), estimate, estimate);
  const __m256 second = _mm256_fmadd_ps(_mm256_fnmadd_ps(x, first, one), first, first);
  const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), error);
  // True for NaN, too.
  const __m256 is_useless = _mm256_cmp_ps(size, _mm256_set1_ps(kUseless), _CMP_NLT_UQ);
  const __m256i all_set =
      _mm256_cmpeq_epi32(_mm256_or_si256(_mm256_castps_si256(x), sign_and_exponent), all_bits);
  const __m256i is_special = _mm256_or_si256(all_set, _mm256_castps_si256(is_useless));
  if (_mm256_testz_si256(is_special, is_special)) [[likely]]
    return second;
  return _mm256_div_ps(one, x);
}

}  // namespace

// Every second vector is divided: the divider works while the multipliers refine the other one.
void Reciprocals(const float* x, int64_t count, float* y) {
  const __m256 one = _mm256_set1_ps(1);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const __m256 divided = _mm256_div_ps(one, _mm256_loadu_ps(x + i));
    const __m256 refined = Refined(_mm256_loadu_ps(x + i + kLanes));
    _mm256_storeu_ps(y + i, divided);
    _mm256_storeu_ps(y + i + kLanes, refined);
  }
  for (; i < count; ++i) y[i] = 1 / x[i];
}

}  // namespace tessera
