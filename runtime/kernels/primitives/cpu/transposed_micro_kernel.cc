#include "runtime/kernels/primitives/cpu/transposed_micro_kernel.h"

#include <array>
#include <utility>

#include "runtime/kernels/primitives/cpu/fma_inner_loop.h"

namespace tessera::gemm::TESSERA_VECTOR_ABI {
namespace {

// The distance, in terms, at which columns are prefetched from the second-level cache. The columns
// of two terms lie in different pages, and the hardware does not prefetch across pages.
constexpr int64_t kTermsAhead = 16;

// Computes a strip of kCount rows and kVectors * kLanes columns. With kPacks the columns come from
// `b`.
template <int kCount, int kVectors, bool kPacks>
void MultiplyStrip(const TransposedBlock& strip) {
  Vector sums[kCount][kVectors];
#pragma GCC unroll 14
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Vector{};
  }
  // The last vector alone may have lanes without a column.
  constexpr int kLast = kVectors - 1;
  const ColumnLanes last(strip.columns - kLanes * kLast);
  const auto load = [&](const float* from, int v) __attribute__((always_inline)) {
    return v == kLast ? last.Load(from + kLanes * v) : Load(from + kLanes * v);
  };
  Prefetcher prefetch(strip.next, strip.depth / kStride + 1);
  const float *a = strip.a, *b = strip.b;
  float* panel = strip.panel;
  const auto add_term = [&](int term) __attribute__((always_inline)) {
    Vector w[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* const at = panel + term * kStripColumns + kLanes * v;
      if (kPacks) {
        w[v] = load(b, v);
        Store(w[v], at);
        _mm_prefetch(b + kTermsAhead * strip.b_step + kLanes * v, _MM_HINT_T0);
      } else {
        w[v] = Load(at);
      }
    }
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
      const Vector x = BroadcastFrom(a + i);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) MultiplyAdd(x, w[v], sums[i][v]);
    }
    a += strip.a_step;
    if (kPacks) b += strip.b_step;
  };
  int64_t term = 0;
  for (; term + kStride <= strip.depth; term += kStride) {
    prefetch.Issue();
#pragma GCC unroll 8
    for (int i = 0; i < kStride; ++i) add_term(i);
    panel += kStride * kStripColumns;
  }
  for (; term < strip.depth; ++term) {
    add_term(0);
    panel += kStripColumns;
  }
#pragma GCC unroll 14
  for (int i = 0; i < kCount; ++i) {
    float* const out = strip.out + i * strip.out_step;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      Vector sum = sums[i][v];
      if (strip.add) sum = load(out, v) + sum;
      v == kLast ? last.Store(sum, out + kLanes * v) : Store(sum, out + kLanes * v);
    }
  }
}

using StripFunction = void (*)(const TransposedBlock& strip);

// The functions for one number of rows, as [vectors - 1][packs].
using FunctionsOfCount = std::array<std::array<StripFunction, 2>, kStripVectors>;

template <int... kCount>
constexpr std::array<FunctionsOfCount, kRegisterRows> StripFunctions(
    std::integer_sequence<int, kCount...>) {
  static_assert(kStripVectors == 2);
  return {FunctionsOfCount{
      {{MultiplyStrip<kCount + 1, 1, false>, MultiplyStrip<kCount + 1, 1, true>},
       {MultiplyStrip<kCount + 1, 2, false>, MultiplyStrip<kCount + 1, 2, true>}}}...};
}

// The functions for each number of rows, as [rows - 1].
constexpr auto kStrips = StripFunctions(std::make_integer_sequence<int, kRegisterRows>());

void Multiply(const TransposedBlock& block) {
  TransposedBlock strip = block;
  for (; strip.columns > 0; strip.columns -= kStripColumns) {
    kStrips[strip.rows - 1][strip.columns > kLanes][strip.b != nullptr](strip);
    if (strip.b != nullptr) strip.b += kStripColumns;
    strip.panel += strip.depth * kStripColumns;
    strip.out += kStripColumns;
    for (PrefetchRange& range : strip.next) range = PrefetchRange();
  }
}

}  // namespace

const TransposedMicroKernel kTransposedMicroKernel = {.max_rows = kRegisterRows,
                                                      .multiply = Multiply};

}  // namespace tessera::gemm::TESSERA_VECTOR_ABI
