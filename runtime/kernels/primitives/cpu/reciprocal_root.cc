#include "runtime/kernels/primitives/cpu/reciprocal_root.h"

#include <immintrin.h>

#include <cmath>

#include "runtime/kernels/primitives/cpu/cpu_features.h"

namespace tessera {
namespace {

// The root is the processor's. Its reciprocal is refined from an estimate by two steps of Newton's
// method with fused multiplication and addition. The result is the quotient rounded to nearest
// unless all bits of the root's mantissa are set (Markstein, "Computation of elementary functions
// on the IBM RISC System/6000 processor", 1990). Vectors with such a root, or with an element that
// is not a positive normal number, are divided.
constexpr int32_t kMantissa = 0x7fffff;
constexpr int32_t kLeastNormal = 0x00800000;
constexpr int32_t kInfinity = 0x7f800000;

void RootsByAvx2(const float* x, int64_t vectors, float* y) {
  const __m256 one = _mm256_set1_ps(1);
  const __m256i mantissa = _mm256_set1_epi32(kMantissa);
  const __m256i least = _mm256_set1_epi32(kLeastNormal);
  const __m256i normals = _mm256_set1_epi32(kInfinity - kLeastNormal);
  for (int64_t i = 0; i < vectors; ++i, x += 8, y += 8) {
    const __m256 value = _mm256_loadu_ps(x);
    const __m256 root = _mm256_sqrt_ps(value);
    __m256 result = _mm256_rsqrt_ps(value);
    for (int step = 0; step < 2; ++step) {
      const __m256 error = _mm256_fnmadd_ps(root, result, one);
      result = _mm256_fmadd_ps(error, result, result);
    }
    const __m256i bits = _mm256_and_si256(_mm256_castps_si256(root), mantissa);
    const __m256i all_set = _mm256_cmpeq_epi32(bits, mantissa);
    // Compared as unsigned numbers, the bits of a normal number are not below those of the smallest
    // one.
    const __m256i place = _mm256_sub_epi32(_mm256_castps_si256(value), least);
    const __m256i beside = _mm256_cmpeq_epi32(_mm256_max_epu32(place, normals), place);
    const __m256i special = _mm256_or_si256(all_set, beside);
    if (!_mm256_testz_si256(special, special)) result = _mm256_div_ps(one, root);
    _mm256_storeu_ps(y, result);
  }
}

TESSERA_AVX512 void RootsByAvx512(const float* x, int64_t vectors, float* y) {
  constexpr int kAllClassesButPositiveNormal = 0xff;
  const __m512 one = _mm512_set1_ps(1);
  const __m512i mantissa = _mm512_set1_epi32(kMantissa);
  for (int64_t i = 0; i < vectors; ++i, x += 16, y += 16) {
    const __m512 value = _mm512_loadu_ps(x);
    const __m512 root = _mm512_sqrt_ps(value);
    __m512 result = _mm512_rsqrt14_ps(value);
    for (int step = 0; step < 2; ++step) {
      const __m512 error = _mm512_fnmadd_ps(root, result, one);
      result = _mm512_fmadd_ps(error, result, result);
    }
    const __m512i bits = _mm512_and_si512(_mm512_castps_si512(root), mantissa);
    const __mmask16 all_set = _mm512_cmpeq_epi32_mask(bits, mantissa);
    const __mmask16 beside = _mm512_fpclass_ps_mask(value, kAllClassesButPositiveNormal);
    if ((all_set | beside) != 0) result = _mm512_div_ps(one, root);
    _mm512_storeu_ps(y, result);
  }
}

}  // namespace

void ReciprocalRoots(const float* x, int64_t count, float* y) {
  static const bool has_avx512 = HasAvx512();
  const int64_t lanes = has_avx512 ? 16 : 8;
  const int64_t vectors = count / lanes;
  (has_avx512 ? RootsByAvx512 : RootsByAvx2)(x, vectors, y);
  for (int64_t i = vectors * lanes; i < count; ++i) y[i] = 1 / std::sqrt(x[i]);
}

}  // namespace tessera
