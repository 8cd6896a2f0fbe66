#include "runtime/kernels/primitives/cpu/reciprocal_root.h"

#include <immintrin.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr int64_t kLanes = 8;

// The processor's estimate r is cut to 12 bits, so that its square is exact and the difference
// e = 1 - x r^2 is rounded once. It is below 2^-9, so that the series of 1 / sqrt(x) = r / sqrt(1 -
// e) in e ends after the second term. Numbers that are not normal, or so large that r^2 is not,
// take a root and a division.
//
// Vectors of 256 bits are as fast as those of 512 bits on Zen 4, and do not wait for stores to the
// same place of another page (typed_loop.h).
__m256 RootsOf(__m256 x) {
  constexpr int32_t kLeastNormal = 0x00800000;
  constexpr int32_t kTooLarge = 0x7e800000;  // 2^126
  const __m256 one = _mm256_set1_ps(1);
  const __m256 first_bits = _mm256_castsi256_ps(_mm256_set1_epi32(~0xfff));
  const __m256 estimate = _mm256_and_ps(_mm256_rsqrt_ps(x), first_bits);
  const __m256 error = _mm256_fnmadd_ps(x, _mm256_mul_ps(estimate, estimate), one);
  const __m256 series = _mm256_fmadd_ps(error, _mm256_set1_ps(0.375f), _mm256_set1_ps(0.5f));
  const __m256 root = _mm256_fmadd_ps(_mm256_mul_ps(estimate, error), series, estimate);
  // Compared as unsigned numbers, negative numbers are large, and those below the least normal one
  // are once it is subtracted.
  const __m256i range = _mm256_set1_epi32(kTooLarge - kLeastNormal);
  const __m256i place = _mm256_sub_epi32(_mm256_castps_si256(x), _mm256_set1_epi32(kLeastNormal));
  const __m256i is_beyond = _mm256_cmpeq_epi32(_mm256_max_epu32(place, range), place);
  if (_mm256_testz_si256(is_beyond, is_beyond)) [[likely]]
    return root;
  const __m256 quotient = _mm256_div_ps(one, _mm256_sqrt_ps(x));
  return _mm256_blendv_ps(root, quotient, _mm256_castsi256_ps(is_beyond));
}

}  // namespace

void ReciprocalRoots(const float* x, int64_t count, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    _mm256_storeu_ps(y + i, RootsOf(_mm256_loadu_ps(x + i)));
  }
  if (i == count) return;
  alignas(32) float rest[kLanes] = {1, 1, 1, 1, 1, 1, 1, 1};
  std::copy(x + i, x + count, rest);
  _mm256_store_ps(rest, RootsOf(_mm256_load_ps(rest)));
  std::copy(rest, rest + (count - i), y + i);
}

}  // namespace tessera
