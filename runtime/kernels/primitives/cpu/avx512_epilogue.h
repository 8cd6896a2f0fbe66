// Vector code that the AVX-512 micro-kernels share: loads of weights, and the epilogue. The files
// that include this are compiled with flags of their own, so everything is static: the linker must
// not merge one file's code with another's.
#pragma once

#include <immintrin.h>

#include <limits>

#include "runtime/kernels/primitives/cpu/micro_kernel.h"

namespace tessera::gemm {

// Returns the mask of lanes [0, count).
static inline __mmask16 First(int64_t count) {
  return count >= 16 ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}

// Loads the lanes of `mask` from 16 floats that are `step` apart. The other lanes are 0.
static inline __m512 Load(const float* from, int64_t step, __mmask16 mask) {
  if (step == 1) return _mm512_maskz_loadu_ps(mask, from);
  alignas(64) float values[16] = {};
  for (int64_t i = 0; i < 16; ++i) {
    if (mask >> i & 1) values[i] = from[i * step];
  }
  return _mm512_load_ps(values);
}

// Applies the epilogue, without its activation, to a sum. The value to add is at `to`.
static inline __m512 ApplyEpilogue(const Epilogue& epilogue, __m512 sum, __m512 bias,
                                   __mmask16 mask, const float* to) {
  sum = _mm512_add_ps(sum, bias);
  if (epilogue.add) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, to));
  // The second operand is returned if either is NaN, so that NaN passes through.
  return _mm512_min_ps(_mm512_set1_ps(epilogue.high),
                       _mm512_max_ps(_mm512_set1_ps(epilogue.low), sum));
}

// Returns the bias of the columns of `mask` from `column` on, or zeros if there is no bias.
static inline __m512 BiasOf(const Epilogue& epilogue, int64_t column, __mmask16 mask) {
  return epilogue.bias == nullptr ? _mm512_setzero_ps()
                                  : _mm512_maskz_loadu_ps(mask, epilogue.bias + column);
}

// Applies the epilogue to sums. With kInPlace the values stay in `sums`, otherwise they are stored
// at their row offsets.
template <bool kInPlace>
static void Finish(const Epilogue& epilogue, int64_t count, int64_t columns,
                   const int64_t* row_offsets, float* out, float* sums) {
  for (int64_t half = 0; half * 16 < columns && half < 2; ++half) {
    const __mmask16 mask = First(columns - half * 16);
    const __m512 bias = BiasOf(epilogue, half * 16, mask);
    for (int64_t i = 0; i < count; ++i) {
      if (row_offsets[i] < 0) continue;
      float* const sum = sums + i * kBlock + half * 16;
      float* const to = out + row_offsets[i] + half * 16;
      const __m512 x = ApplyEpilogue(epilogue, _mm512_load_ps(sum), bias, mask, to);
      kInPlace ? _mm512_store_ps(sum, x) : _mm512_mask_storeu_ps(to, mask, x);
    }
  }
}

// Applies the epilogue to `count` rows of kBlock sums and stores them in the columns of one panel.
// `columns` is the number of columns of the whole product. The other arguments are those of
// MultiplyBlock().
static inline void StoreBlock(const Epilogue& epilogue, int64_t panel, int64_t count,
                              int64_t columns, const int64_t* row_offsets, float* out,
                              float* sums) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  columns -= panel * kBlock;
  Epilogue end = epilogue;
  if (end.bias != nullptr) end.bias += panel * kBlock;
  out += panel * kBlock;
  if (end.activate != nullptr) {
    Finish<true>(end, count, columns, row_offsets, out, sums);
    end.activate(end.alpha, sums, count * kBlock);
    end = Epilogue{.low = -kInfinity, .high = kInfinity};
  }
  Finish<false>(end, count, columns, row_offsets, out, sums);
}

}  // namespace tessera::gemm
