// Sixteen floats side by side, with which the rules of optimizers compute as with a single float.
// Files compiled for other instruction sets than AVX-512 see nothing of it.
#pragma once

#ifdef __AVX512F__

#include <immintrin.h>

#include <cstdint>

namespace tessera::optimizers {
inline namespace TESSERA_VECTOR_ABI {

class FloatVector {
 public:
  static constexpr int64_t kLanes = 16;

  FloatVector(float value)  // NOLINT(google-explicit-constructor): rules mix vectors and numbers
      : lanes_(_mm512_set1_ps(value)) {}

  static FloatVector Load(const float* from) { return FloatVector(_mm512_loadu_ps(from)); }
  void Store(float* to) const { _mm512_storeu_ps(to, lanes_); }

  friend FloatVector operator+(FloatVector x, FloatVector y) {
    return FloatVector(x.lanes_ + y.lanes_);
  }
  friend FloatVector operator-(FloatVector x, FloatVector y) {
    return FloatVector(x.lanes_ - y.lanes_);
  }
  friend FloatVector operator*(FloatVector x, FloatVector y) {
    return FloatVector(x.lanes_ * y.lanes_);
  }
  friend FloatVector operator/(FloatVector x, FloatVector y) {
    return FloatVector(x.lanes_ / y.lanes_);
  }
  FloatVector& operator+=(FloatVector x) { return *this = *this + x; }
  FloatVector& operator-=(FloatVector x) { return *this = *this - x; }

  // Roots and divisions share one unit of the processor, which the others wait for. So the root
  // comes from the processor's estimate of 1 / sqrt(x) and one step of Newton's method, whose
  // result is within 0.8 units in the last place of the exact value. Zeros, denormal, negative and
  // infinite numbers and NaN take the processor's root.
  friend FloatVector Sqrt(FloatVector x) {
    constexpr int32_t kLeastNormal = 0x00800000, kInfinity = 0x7f800000;
    constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of what its own header leaves out
    const __m512 half = _mm512_set1_ps(0.5f);
    const __m512 estimate = _mm512_maskz_rsqrt14_ps(kAll, x.lanes_);
    const __m512 root = x.lanes_ * estimate;
    const __m512 error = _mm512_fnmadd_ps(root, half * estimate, half);
    const __m512 better = _mm512_fmadd_ps(root, error, root);
    // Once the least normal number is subtracted, zeros, denormal and negative numbers are large
    // unsigned ones.
    const __m512i place =
        _mm512_sub_epi32(_mm512_castps_si512(x.lanes_), _mm512_set1_epi32(kLeastNormal));
    const __mmask16 is_other =
        _mm512_cmpge_epu32_mask(place, _mm512_set1_epi32(kInfinity - kLeastNormal));
    if (is_other == 0) [[likely]]
      return FloatVector(better);
    return FloatVector(_mm512_mask_sqrt_ps(better, is_other, x.lanes_));
  }

 private:
  explicit FloatVector(__m512 lanes) : lanes_(lanes) {}

  __m512 lanes_;
};

}  // namespace TESSERA_VECTOR_ABI
}  // namespace tessera::optimizers

#endif  // __AVX512F__
