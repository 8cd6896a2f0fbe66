// Eight numbers of half or bfloat16 side by side, held as floats and rounded after each operation.
//
//   using Halves = RoundedVector<Eigen::half>;
//   Halves sum(0.0f);
//   sum = sum + Halves::Load(x);  // eight roundings
//
// TensorFlow computes these types in vectors of eight lanes, and this length decides the order of
// its additions.
#pragma once

#include <immintrin.h>

#include <type_traits>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cpu/rounded_float.h"

namespace tessera {

template <typename Storage>
class RoundedVector {
 public:
  static constexpr bool kIsHalf = Rounded<Storage>::kIsHalf;
  static constexpr int kLanes = 8;

  RoundedVector() = default;
  // Sets each lane to `value`, which Storage must hold exactly.
  explicit RoundedVector(float value) : lanes_(_mm256_set1_ps(value)) {}

  static RoundedVector Load(const Storage* from) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    if constexpr (kIsHalf) {
      return RoundedVector(_mm256_cvtph_ps(bits));
    } else {
      return RoundedVector(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)));
    }
  }
  // Loads floats that Storage holds exactly.
  static RoundedVector Load(const float* from) { return RoundedVector(_mm256_loadu_ps(from)); }

  void Store(float* to) const { _mm256_storeu_ps(to, lanes_); }
  void Store(Storage* to) const {
    __m128i bits;
    if constexpr (kIsHalf) {
      bits = _mm256_cvtps_ph(lanes_, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    } else {
      const __m256i upper = _mm256_srli_epi32(_mm256_castps_si256(lanes_), 16);
      bits = _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bits);
  }

  friend RoundedVector operator+(RoundedVector x, RoundedVector y) {
    return Round(_mm256_add_ps(x.lanes_, y.lanes_));
  }
  friend RoundedVector operator*(RoundedVector x, RoundedVector y) {
    return Round(_mm256_mul_ps(x.lanes_, y.lanes_));
  }
  // x * y + z, rounded once.
  friend RoundedVector MultiplyAdd(RoundedVector x, RoundedVector y, RoundedVector z) {
    // Products of two narrow numbers are exact in float.
    return Round(_mm256_add_ps(_mm256_mul_ps(x.lanes_, y.lanes_), z.lanes_));
  }

 private:
  explicit RoundedVector(__m256 lanes) : lanes_(lanes) {}

  static RoundedVector Round(__m256 x) {
    if constexpr (kIsHalf) {
      return RoundedVector(
          _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
    } else {
      const __m256i bits = _mm256_castps_si256(x);
      const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
      const __m256i carried =
          _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
      const __m256i kept = _mm256_set1_epi32(static_cast<int>(0xffff0000));
      const __m256 rounded = _mm256_castsi256_ps(_mm256_and_si256(carried, kept));
      return RoundedVector(_mm256_blendv_ps(rounded, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
    }
  }

  __m256 lanes_;
};

}  // namespace tessera
