#include "runtime/kernels/primitives/cpu/transposed_micro_kernel.h"

#include <immintrin.h>

#include "runtime/kernels/primitives/cpu/fma_inner_loop.h"

namespace tessera::gemm {
namespace {

// The distance, in terms, at which columns are prefetched from the second-level cache. The columns
// of two terms lie in different pages, and the hardware does not prefetch across pages.
constexpr int64_t kTermsAhead = 16;

// Computes a block of kCount rows and kVectors * 16 columns. With kPacks the columns come from `b`.
template <int kCount, int kVectors, bool kPacks>
void Multiply(const TransposedBlock& block) {
  __m512 sums[kCount][kVectors];
#pragma GCC unroll 14
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = _mm512_setzero_ps();
  }
  __mmask16 masks[kVectors];
  for (int v = 0; v < kVectors; ++v) masks[v] = First(block.columns - 16 * v);
  Prefetcher prefetch(block.next, block.depth / kStride + 1);
  const float *a = block.a, *b = block.b;
  float* panel = block.panel;
  const auto add_term = [&](int term) __attribute__((always_inline)) {
    __m512 w[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* const at = panel + term * kBlock + 16 * v;
      if (kPacks) {
        w[v] = _mm512_maskz_loadu_ps(masks[v], b + 16 * v);
        _mm512_storeu_ps(at, w[v]);
        _mm_prefetch(b + kTermsAhead * block.b_step + 16 * v, _MM_HINT_T0);
      } else {
        w[v] = _mm512_loadu_ps(at);
      }
    }
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
      const __m512 x = Broadcast(a + i);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) MultiplyAdd(x, w[v], sums[i][v]);
    }
    a += block.a_step;
    if (kPacks) b += block.b_step;
  };
  int64_t term = 0;
  for (; term + kStride <= block.depth; term += kStride) {
    prefetch.Issue();
#pragma GCC unroll 8
    for (int i = 0; i < kStride; ++i) add_term(i);
    panel += kStride * kBlock;
  }
  for (; term < block.depth; ++term) {
    add_term(0);
    panel += kBlock;
  }
#pragma GCC unroll 14
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* const at = block.out + i * block.out_step + 16 * v;
      __m512 sum = sums[i][v];
      if (block.add) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(masks[v], at), sum);
      _mm512_mask_storeu_ps(at, masks[v], sum);
    }
  }
}

using Function = void (*)(const TransposedBlock& block);

// The functions for one number of rows, as [vectors - 1][packs].
struct FunctionsOfCount {
  Function functions[2][2];
};
template <int kCount>
constexpr FunctionsOfCount kFunctionsOf = {
    {{Multiply<kCount, 1, false>, Multiply<kCount, 1, true>},
     {Multiply<kCount, 2, false>, Multiply<kCount, 2, true>}}};

// The functions for each number of rows, as [rows - 1].
constexpr FunctionsOfCount kFunctions[kFmaRows] = {
    kFunctionsOf<1>,  kFunctionsOf<2>,  kFunctionsOf<3>,  kFunctionsOf<4>, kFunctionsOf<5>,
    kFunctionsOf<6>,  kFunctionsOf<7>,  kFunctionsOf<8>,  kFunctionsOf<9>, kFunctionsOf<10>,
    kFunctionsOf<11>, kFunctionsOf<12>, kFunctionsOf<13>, kFunctionsOf<14>};

}  // namespace

void MultiplyTransposed(const TransposedBlock& block) {
  kFunctions[block.rows - 1].functions[block.columns > 16][block.b != nullptr](block);
}

}  // namespace tessera::gemm
