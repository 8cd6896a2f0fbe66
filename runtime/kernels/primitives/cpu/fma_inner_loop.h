// The inner loop of GEMMs: accumulates products with a float panel in registers. See simd_vectors.h
// for the files that may include it.
#pragma once

#include <span>

#include "runtime/kernels/primitives/cpu/prefetch.h"
#include "runtime/kernels/primitives/cpu/simd_vectors.h"
#include "runtime/kernels/primitives/cpu/vector_epilogue.h"

namespace tessera::gemm::TESSERA_VECTOR_ABI {

// The number of rows whose sums of kStripVectors vectors are held in registers. With the weights
// and one broadcast value, 31 of the 32 registers of AVX-512 are in use, and 15 of AVX2's 16.
static constexpr int64_t kRegisterRows = kLanes == 16 ? 14 : 6;
static constexpr int kStripVectors = 2;
// The columns that are multiplied together. A packed panel consists of such strips, each of which
// holds its columns term by term: a single strip on AVX-512, and two on AVX2.
static constexpr int64_t kStripColumns = kStripVectors * kLanes;
static constexpr int64_t kStrips = kBlock / kStripColumns;
static_assert(kBlock % kStripColumns == 0);
// The number of terms to accumulate between two prefetches.
static constexpr int64_t kStride = 8;
static constexpr int64_t kCacheLine = 64;  // bytes

// Rows whose stride is a multiple of this many floats map to few sets of the first-level cache.
static constexpr int64_t kConflictingStride = 512;

// Returns a row stride, in floats, of at least `depth` that avoids cache conflicts.
static inline int64_t ConflictFreeStride(int64_t depth) {
  return depth % kConflictingStride == 0 ? depth + 16 : depth;
}

// Rows that lie `step` floats apart, in a range of the depth.
struct RowSlice {
  const float* rows;
  int64_t step;
  int64_t depth;
};

// The part of one strip that matches a RowSlice, as AccumulateSlice() reads it.
class PanelSlice {
 public:
  explicit PanelSlice(const float* weights) : weights_(weights) {}

  // Returns the vector of weights at `offset` floats.
  Vector Load(int64_t offset) const { return tessera::Load(weights_ + offset); }
  // Moves all further loads by this many floats.
  void Advance(int64_t floats) { weights_ += floats; }

 private:
  const float* weights_;
};

// The assembly of both functions is volatile, so that the compiler keeps its order and its
// registers. The compiler would otherwise load all values of a term at once, which leaves no
// registers for the sums.
static inline Vector BroadcastFrom(const float* from) {
  Vector x;
  asm volatile("vbroadcastss %1, %0" : "=v"(x) : "m"(*from));
  return x;
}

static inline void MultiplyAdd(Vector x, Vector y, Vector& sum) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
}

// Spreads software prefetches evenly over an inner loop.
class Prefetcher {
 public:
  // Prefetches all of `next` in `steps` calls of Issue().
  Prefetcher(std::span<const PrefetchRange> next, int64_t steps) : next_(next) {
    int64_t lines = 0, longest = 0;
    for (const PrefetchRange& rows : next) {
      lines += LinesOf(rows) * rows.count;
      if (LinesOf(rows) > longest) longest = LinesOf(rows);
    }
    if (lines == 0) return;
    int64_t chunk = (lines + steps - 1) / steps;
    chunks_ = 1;
    // Each short row is a chunk of its own, so that there may be more chunks than steps. A single
    // row, which is what small products prefetch, needs no further divisions.
    if (lines != longest) {
      while (chunk < longest && ChunksOf(chunk) > steps) ++chunk;
      chunks_ = (ChunksOf(chunk) + steps - 1) / steps;
    }
    chunk_ = chunk * kCacheLine;
    GoTo(0, 0);
  }

  // Prefetches the share that belongs to kStride terms. It may reach beyond the end of a row.
  void Issue() {
    for (int64_t i = 0; i < chunks_; ++i) {
      const char* const from = at_;
      const char* const to = from + chunk_;
      for (const char* line = from; line != to; line += kCacheLine) {
        _mm_prefetch(line, _MM_HINT_T1);
      }
      at_ = to;
      if (to >= end_) GoTo(place_, row_ + 1);
    }
  }

 private:
  static int64_t LinesOf(const PrefetchRange& rows) {
    return (rows.size + kCacheLine - 1) / kCacheLine;
  }
  // Returns the number of chunks of `lines` cache lines that all rows are cut into.
  int64_t ChunksOf(int64_t lines) const {
    int64_t chunks = 0;
    for (const PrefetchRange& rows : next_) {
      chunks += (LinesOf(rows) + lines - 1) / lines * rows.count;
    }
    return chunks;
  }

  // Moves to a row of next_[place], or to the next range if that has no such row. This must be
  // inlined, because a call would spill all sums.
  __attribute__((always_inline)) void GoTo(int64_t place, int64_t row) {
    while (place < std::ssize(next_) && (row == next_[place].count || next_[place].size == 0)) {
      ++place;
      row = 0;
    }
    if (place == std::ssize(next_)) {
      chunks_ = 0;
      return;
    }
    place_ = place;
    row_ = row;
    at_ = static_cast<const char*>(next_[place].at) + row * next_[place].step;
    end_ = at_ + next_[place].size;
  }

  const std::span<const PrefetchRange> next_;
  int64_t chunks_ = 0;  // for each call of Issue()
  int64_t chunk_ = 0;   // bytes
  int64_t place_ = 0, row_ = 0;
  const char *at_ = nullptr, *end_ = nullptr;  // the rest of the current row
};

// Adds the products of rows and weights to the sums of kCount rows and kVectors * kLanes columns.
// Each weight is loaded once, in the order of the depth. WeightSlice is PanelSlice or has its
// functions.
template <int kCount, int kVectors, typename WeightSlice>
static inline void AccumulateSlice(const RowSlice& s, WeightSlice weights, Prefetcher* prefetch,
                                   Vector (&sums)[kCount][kVectors]) {
  // One pointer addresses three rows through the index register.
  constexpr int kGroups = (kCount + 2) / 3;
  const float* groups[kGroups];
#pragma GCC unroll 5
  for (int g = 0; g < kGroups; ++g) groups[g] = s.rows + 3 * g * s.step;
  int64_t step = s.step;
  // Pointers advance only once for several terms, because scalar additions compete with
  // multiplications for the execution ports.
  const auto add_term = [&](int term) __attribute__((always_inline)) {
    // Addresses of many rows are computed anew for each term, as parts of the instructions. The
    // compiler would otherwise keep an index register for each term, and there are not enough.
    if constexpr (kGroups > 2) asm("" : "+r"(step));
    Vector w[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) w[v] = weights.Load(term * kStripColumns + kLanes * v);
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
      const Vector x = BroadcastFrom(groups[i / 3] + i % 3 * step + term);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) MultiplyAdd(x, w[v], sums[i][v]);
    }
  };
  const auto move = [&](int64_t depth) __attribute__((always_inline)) {
    weights.Advance(depth * kStripColumns);
#pragma GCC unroll 5
    for (int g = 0; g < kGroups; ++g) groups[g] += depth;
  };
  int64_t term = 0;
  for (; term + kStride <= s.depth; term += kStride) {
    prefetch->Issue();
#pragma GCC unroll 8
    for (int i = 0; i < kStride; ++i) add_term(i);
    move(kStride);
  }
  for (; term < s.depth; ++term) {
    add_term(0);
    move(1);
  }
}

// The output of an epilogue that is no more than an addition and a clamp.
struct Destination {
  const Epilogue& epilogue;  // its bias is that of the strip's first column
  const int64_t* row_offsets;
  int64_t columns;  // from the strip's first column on
  float* out;
};

// Prefetches the lines of the output that StoreRows() writes, which would wait for them.
template <int kCount>
static inline void PrefetchRows(const Destination& to) {
#pragma GCC unroll 14
  for (int i = 0; i < kCount; ++i) {
    if (to.row_offsets[i] >= 0) _mm_prefetch(to.out + to.row_offsets[i], _MM_HINT_T0);
  }
}

// Stores the sums of kCount rows and kVectors * kLanes columns.
template <int kCount, int kVectors>
static inline void StoreRows(const Destination& to, const Vector (&sums)[kCount][kVectors]) {
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const ColumnLanes lanes(to.columns - kLanes * v);
    const Vector bias = BiasOf(to.epilogue, kLanes * v, lanes);
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
      if (to.row_offsets[i] < 0) continue;
      float* const at = to.out + to.row_offsets[i] + kLanes * v;
      lanes.Store(ApplyEpilogue(to.epilogue, sums[i][v], bias, lanes, at), at);
    }
  }
}

}  // namespace tessera::gemm::TESSERA_VECTOR_ABI
