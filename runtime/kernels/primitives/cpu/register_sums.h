// Sums of products with a panel of float in registers: the inner loop of what multiplies on
// AVX-512. For files that are compiled for it, as block_vectors.h.
#pragma once

#include <immintrin.h>

#include <span>

#include "runtime/kernels/primitives/cpu/block_vectors.h"
#include "runtime/kernels/primitives/cpu/next_rows.h"

namespace tessera::panel {

// Sums of so many rows are in registers: with weights and a row's value, 31 of 32 are in use.
inline constexpr int64_t kRegisterRows = 14;
// Terms that are added up between two requests for what comes next.
inline constexpr int64_t kStride = 8;
inline constexpr int64_t kCacheLine = 64;  // bytes

// Rows a multiple of this many floats apart would share few sets of the first-level cache.
inline constexpr int64_t kBadStep = 512;

// Floats from row to row that suit the cache.
static inline int64_t StepOf(int64_t terms) { return terms % kBadStep == 0 ? terms + 16 : terms; }

// A stretch of terms: of rows that lie `step` floats apart, and of one panel.
struct Stretch {
  const float* rows;
  int64_t step;
  const float* weights;
  int64_t terms;
};

// These two keep their order and their registers: the compiler would rather load all values of a
// term at once, which leaves no registers for the sums.
static inline __m512 Broadcast(const float* from) {
  __m512 x;
  asm volatile("vbroadcastss %1, %0" : "=v"(x) : "m"(*from));
  return x;
}

static inline void MultiplyAdd(__m512 x, __m512 y, __m512& sum) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
}

// Brings what is needed next, in equal shares, while terms are added up.
class Ahead {
 public:
  // All of `next` within `strides` times kStride terms.
  Ahead(std::span<const NextRows> next, int64_t strides) : next_(next) {
    int64_t lines = 0;
    for (const NextRows& rows : next) {
      lines += (rows.size + kCacheLine - 1) / kCacheLine * rows.count;
    }
    share_ = (lines + strides - 1) / strides;
    if (share_ > 0) GoTo(0, 0);
  }

  // Brings the share of kStride terms.
  void Bring() {
    for (int64_t i = 0; i < share_; ++i) {
      _mm_prefetch(at_, _MM_HINT_T1);
      at_ += kCacheLine;
      if (at_ >= end_) GoTo(place_, row_ + 1);
    }
  }

 private:
  // Goes on with a row of next_[place], or what comes after it. Not a call, before which all sums
  // would have to be stored.
  __attribute__((always_inline)) void GoTo(int64_t place, int64_t row) {
    while (place < std::ssize(next_) && (row == next_[place].count || next_[place].size == 0)) {
      ++place;
      row = 0;
    }
    if (place == std::ssize(next_)) {
      share_ = 0;
      return;
    }
    place_ = place;
    row_ = row;
    at_ = static_cast<const char*>(next_[place].at) + row * next_[place].step;
    end_ = at_ + next_[place].size;
  }

  const std::span<const NextRows> next_;
  int64_t share_ = 0;  // lines
  int64_t place_ = 0, row_ = 0;
  const char *at_ = nullptr, *end_ = nullptr;  // the rest of the row
};

// Adds the products of a stretch to sums in registers, for `kCount` rows and kVectors * 16 columns.
template <int kCount, int kVectors>
static inline void AddStretch(const Stretch& s, Ahead* ahead, __m512 (&sums)[kCount][kVectors]) {
  // A pointer to every third row reaches the two after it by an index.
  constexpr int kGroups = (kCount + 2) / 3;
  const float* groups[kGroups];
#pragma GCC unroll 5
  for (int g = 0; g < kGroups; ++g) groups[g] = s.rows + 3 * g * s.step;
  const float* weights = s.weights;
  const int64_t step = s.step;
  // Pointers move seldom: scalar additions take turns of the units that multiply.
  const auto add_term = [&](int term) __attribute__((always_inline)) {
    __m512 w[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) w[v] = _mm512_loadu_ps(weights + term * kBlock + 16 * v);
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
      const __m512 x = Broadcast(groups[i / 3] + i % 3 * step + term);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) MultiplyAdd(x, w[v], sums[i][v]);
    }
  };
  const auto move = [&](int64_t terms) __attribute__((always_inline)) {
    weights += terms * kBlock;
#pragma GCC unroll 5
    for (int g = 0; g < kGroups; ++g) groups[g] += terms;
  };
  int64_t term = 0;
  for (; term + kStride <= s.terms; term += kStride) {
    ahead->Bring();
#pragma GCC unroll 8
    for (int i = 0; i < kStride; ++i) add_term(i);
    move(kStride);
  }
  for (; term < s.terms; ++term) {
    add_term(0);
    move(1);
  }
}

// Where sums go that need no more than to be added to and clamped.
struct Destination {
  const Ending& ending;
  const int64_t* places;
  int64_t columns;  // from the panel's first one on
  float* out;
};

// Stores the sums of kCount rows and kVectors * 16 columns.
template <int kCount, int kVectors>
static inline void StoreRows(const Destination& to, const __m512 (&sums)[kCount][kVectors]) {
  __mmask16 masks[kVectors];
  __m512 bias[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    masks[v] = First(to.columns - 16 * v);
    bias[v] = BiasOf(to.ending, 16 * v, masks[v]);
  }
#pragma GCC unroll 14
  for (int i = 0; i < kCount; ++i) {
    if (to.places[i] < 0) continue;
    float* const row = to.out + to.places[i];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* const at = row + 16 * v;
      _mm512_mask_storeu_ps(at, masks[v], Ended(to.ending, sums[i][v], bias[v], masks[v], at));
    }
  }
}

}  // namespace tessera::panel
