#include "runtime/kernels/primitives/cpu/simd_loops.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/kernels/primitives/cpu/simd_vectors.h"

namespace tessera::simd::TESSERA_VECTOR_ABI {
namespace {

// The number of rows whose sums are held in registers, for each number of vectors.
#ifdef __AVX512F__
constexpr int kRows[kMaxVectors + 1] = {0, 16, 12, 8, 6};
#else
constexpr int kRows[kMaxVectors + 1] = {0, 8, 6, 4, 3};
#endif

constexpr int64_t kLine = 16;  // floats of a cache line

inline Vector Bound(Vector x, const Bounds& bounds) {
  return Min(Broadcast(bounds.high), Max(Broadcast(bounds.low), x));
}

// ---- matrix products ----

// Adds, clamps and stores `count` rows of sums. Only the first m.columns columns exist.
void StoreSome(const Multiplication& m, int64_t row, int64_t count, int64_t vectors,
               const float* sums) {
  for (int64_t i = row; i < row + count; ++i) {
    for (int64_t column = 0; column < vectors * kLanes; column += kLanes, sums += kLanes) {
      const int64_t left = m.columns < column            ? 0
                           : m.columns < column + kLanes ? m.columns - column
                                                         : kLanes;
      Vector sum = Load(sums);
      if (m.addend != nullptr) sum += LoadFirst(m.addend + i * m.addend_stride + column, left);
      StoreFirst(Bound(sum, m.bounds), m.out + i * m.out_stride + column, left);
    }
  }
}

// Walks over the rows to prefetch line by line, and continues beyond their end.
class LinePrefetcher {
 public:
  explicit LinePrefetcher(const PrefetchRows& prefetch)
      : at_(prefetch.data),
        row_((prefetch.size + kLine - 1) / kLine),
        gap_(prefetch.step - row_ * kLine),
        left_in_row_(prefetch.rows == 1 ? INT64_MAX : row_),
        left_(prefetch.rows * row_) {}

  bool empty() const { return left_ <= 0; }
  void PrefetchLine() {
    __builtin_prefetch(at_, 0, 2);
    at_ += kLine;
    if (--left_in_row_ == 0) {
      at_ += gap_;
      left_in_row_ = row_;
    }
  }
  // Records `count` calls of PrefetchLine().
  void Count(int64_t count) { left_ -= count; }

 private:
  const float* at_;
  int64_t row_, gap_, left_in_row_, left_;  // in lines, except for gap_, which is in floats
};

// Computes kCount rows. With kPrefetches one line is prefetched with each term.
template <int kVectors, int kCount, bool kPrefetches>
void MultiplyRows(const Multiplication& m, int64_t row, LinePrefetcher* lines) {
  LinePrefetcher prefetch = *lines;  // a copy that stays in registers
  Vector sums[kCount][kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const Vector bias = m.bias == nullptr ? Vector{} : Load(m.bias + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) sums[i][v] = bias;
  }
  const float* const a = m.a + row * m.a_stride;
  const float* weights = m.weights;
  for (int64_t k = 0; k < m.depth; ++k, weights += m.weights_stride) {
    if constexpr (kPrefetches) prefetch.PrefetchLine();
    Vector w[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) w[v] = Load(weights + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const Vector x = Broadcast(a[i * m.a_stride + k]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[i][v] += x * w[v];
    }
  }
  if constexpr (kPrefetches) {
    prefetch.Count(m.depth);
    *lines = prefetch;
  }
  if (m.columns < kVectors * kLanes) {
    alignas(64) float kept[kCount * kVectors * kLanes];
    std::memcpy(kept, sums, sizeof(kept));
    return StoreSome(m, row, kCount, kVectors, kept);
  }
  if (m.addend != nullptr) {
    const float* addend = m.addend + row * m.addend_stride;
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i, addend += m.addend_stride) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[i][v] += Load(addend + v * kLanes);
    }
  }
  float* out = m.out + row * m.out_stride;
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i, out += m.out_stride) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) Store(Bound(sums[i][v], m.bounds), out + v * kLanes);
  }
}

// Calls run(first, count) for blocks of up to `most` items that cover [0, total) and are of about
// the same size.
template <typename Run>
void ForEachBlock(int64_t total, int64_t most, const Run& run) {
  int64_t blocks = (total + most - 1) / most;
  for (int64_t first = 0; first < total; --blocks) {
    const int64_t count = (total - first + blocks - 1) / blocks;
    run(first, count);
    first += count;
  }
}

using RowsFunction = void (*)(const Multiplication& m, int64_t row, LinePrefetcher* prefetch);

template <int kVectors, int... kCounts>
void MultiplyPanel(const Multiplication& m, std::integer_sequence<int, kCounts...>) {
  static constexpr RowsFunction kFunctions[2][sizeof...(kCounts)] = {
      {MultiplyRows<kVectors, kCounts + 1, false>...},
      {MultiplyRows<kVectors, kCounts + 1, true>...}};
  LinePrefetcher prefetch(m.prefetch);
  ForEachBlock(m.rows, kRows[kVectors], [&](int64_t row, int64_t count) {
    kFunctions[!prefetch.empty()][count - 1](m, row, &prefetch);
  });
}

template <int kVectors>
using Counts = std::make_integer_sequence<int, kRows[kVectors]>;

void Multiply(int64_t vectors, const Multiplication& m) {
  switch (vectors) {
    case 1:
      return MultiplyPanel<1>(m, Counts<1>());
    case 2:
      return MultiplyPanel<2>(m, Counts<2>());
    case 3:
      return MultiplyPanel<3>(m, Counts<3>());
    case 4:
      return MultiplyPanel<4>(m, Counts<4>());
  }
}

// ---- depthwise convolutions ----

// Computes kCount outputs from `first` on, for one vector of channels. If kStride is not 0, the
// filter is 3x3 and has this stride, and each point is read once. With kStride 0 the filter is
// arbitrary.
template <int kStride, int kCount>
__attribute__((always_inline)) inline void Convolve(const DepthwiseRow& d, int64_t step,
                                                    int64_t channel, int64_t first) {
  const float* weights = d.weights + channel;
  Vector sums[kCount];
#pragma GCC unroll 8
  for (Vector& sum : sums) sum = Load(d.bias + channel);
  if constexpr (kStride == 0) {
    for (int64_t position = 0; position < d.height * d.width; ++position, weights += step) {
      const Vector weight = Load(weights);
      const int64_t point = first * d.stride + position % d.width * d.dilation;
      const float* from = d.rows[position / d.width] + point * step + channel;
#pragma GCC unroll 8
      for (Vector& sum : sums) {
        sum += Load(from) * weight;
        from += d.stride * step;
      }
    }
  } else {
#pragma GCC unroll 3
    for (int y = 0; y < 3; ++y) {
      const float* from = d.rows[y] + first * kStride * step + channel;
      Vector row[3];
#pragma GCC unroll 3
      for (Vector& weight : row) {
        weight = Load(weights);
        weights += step;
      }
#pragma GCC unroll 32
      for (int x = 0; x < (kCount - 1) * kStride + 3; ++x, from += step) {
        Vector point = Load(from);
        // This keeps the compiler from reading the point once for each sum.
        asm("" : "+v"(point));
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i) {
          const int position = x - i * kStride;
          if (position >= 0 && position < 3) sums[i] += point * row[position];
        }
      }
    }
  }
  float* out = d.out + first * d.out_stride + channel;
#pragma GCC unroll 8
  for (const Vector& sum : sums) {
    Store(Bound(sum, d.bounds), out);
    out += d.out_stride;
  }
}

template <int kStride, int kCount>
void ConvolvePanel(const DepthwiseRow& d, int64_t step, int64_t first) {
  for (int64_t channel = 0; channel < step; channel += kLanes) {
    Convolve<kStride, kCount>(d, step, channel, first);
  }
}

template <int kStride, int... kCounts>
void ConvolveRow(const DepthwiseRow& d, int64_t step, std::integer_sequence<int, kCounts...>) {
  static constexpr decltype(&ConvolvePanel<kStride, 1>) kFunctions[] = {
      ConvolvePanel<kStride, kCounts + 1>...};
  ForEachBlock(d.outputs, sizeof...(kCounts),
               [&](int64_t first, int64_t count) { kFunctions[count - 1](d, step, first); });
}

void Depthwise(int64_t vectors, const DepthwiseRow& d) {
  constexpr std::make_integer_sequence<int, 8> kCounts;
  const bool is_3x3 = d.height == 3 && d.width == 3 && d.dilation == 1;
  const int64_t step = vectors * kLanes;
  if (is_3x3 && d.stride == 1) return ConvolveRow<1>(d, step, kCounts);
  if (is_3x3 && d.stride == 2) return ConvolveRow<2>(d, step, kCounts);
  ConvolveRow<0>(d, step, kCounts);
}

// ---- transposition ----

#ifdef __AVX512F__
// Interleaves the lower halves (0) or the upper halves (1) of two vectors.
template <int kHalf, int... kLane>
inline Vector Interleave(Vector a, Vector b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, (kLane % 2 * kLanes + (kHalf * kLanes + kLane) / 2)...);
}

// Transposes a square matrix of kLanes rows. Each step moves row i + j * lanes / 2 to row 2 i + j,
// and the elements of each row in the same way.
inline void Transpose(Vector (&rows)[kLanes]) {
  constexpr std::make_integer_sequence<int, kLanes> kAll;
#pragma GCC unroll 4
  for (int size = kLanes; size > 1; size /= 2) {
    Vector next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = Interleave<0>(rows[i], rows[i + kLanes / 2], kAll);
      next[2 * i + 1] = Interleave<1>(rows[i], rows[i + kLanes / 2], kAll);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
}

constexpr int64_t kSquare = kLanes;  // columns that are transposed at a time

// Transposes kLanes rows from `row` on, which all exist if kIsWhole, by `count` columns.
template <bool kIsWhole>
inline void TransposeSquare(const Transposition& t, int64_t row, int64_t column, int64_t count) {
  Vector rows[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const float* const from = t.from + (row + i) * t.from_stride + column;
    rows[i] = kIsWhole ? Load(from) : row + i < t.rows ? LoadFirst(from, count) : Vector{};
  }
  Transpose(rows);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if (kIsWhole || i < count) Store(rows[i], t.to + (column + i) * t.to_stride + row);
  }
}
#else
constexpr int64_t kSquare = 4;  // columns that are transposed at a time

// Loads `count` elements of row `row`, of which the others are 0.
template <bool kIsWhole>
inline __m128 LoadSquare(const Transposition& t, int64_t row, int64_t column, int64_t count) {
  const float* const from = t.from + row * t.from_stride + column;
  if (kIsWhole) return _mm_loadu_ps(from);
  if (row >= t.rows) return _mm_setzero_ps();
  return _mm_maskload_ps(from, _mm256_castsi256_si128(FirstLanes(count)));
}

// Transposes kLanes rows from `row` on, which all exist if kIsWhole, by `count` columns. Row i + 4
// is loaded into the upper half of the vector of row i, which takes no shuffle, so that no element
// crosses the halves of a vector later.
template <bool kIsWhole>
inline void TransposeSquare(const Transposition& t, int64_t row, int64_t column, int64_t count) {
  __m256 rows[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm256_insertf128_ps(
        _mm256_castps128_ps256(LoadSquare<kIsWhole>(t, row + i, column, count)),
        LoadSquare<kIsWhole>(t, row + i + 4, column, count), 1);
  }
  const __m256d pairs[4] = {_mm256_castps_pd(_mm256_unpacklo_ps(rows[0], rows[1])),
                            _mm256_castps_pd(_mm256_unpacklo_ps(rows[2], rows[3])),
                            _mm256_castps_pd(_mm256_unpackhi_ps(rows[0], rows[1])),
                            _mm256_castps_pd(_mm256_unpackhi_ps(rows[2], rows[3]))};
  const __m256d columns[4] = {
      _mm256_unpacklo_pd(pairs[0], pairs[1]), _mm256_unpackhi_pd(pairs[0], pairs[1]),
      _mm256_unpacklo_pd(pairs[2], pairs[3]), _mm256_unpackhi_pd(pairs[2], pairs[3])};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    if (kIsWhole || i < count) {
      Store(_mm256_castpd_ps(columns[i]), t.to + (column + i) * t.to_stride + row);
    }
  }
}
#endif

// Prefetches a share of the lines of the rows that follow: the columns of a line, kSquare of which
// are transposed at a time, take turns. GCC drops calls of functions that only prefetch, so that
// this one must be inlined.
[[gnu::always_inline]] inline void PrefetchNextRows(const Transposition& t, int64_t column) {
  constexpr int64_t kShares = kLine / kSquare;
  const float* next = t.from + (t.rows + column / kSquare % kShares) * t.from_stride + column;
  for (int64_t row = 0; row < t.rows; row += kShares, next += kShares * t.from_stride) {
    __builtin_prefetch(next);
  }
}

void TransposeRows(const Transposition& t) {
  const int64_t whole_rows = t.rows / kLanes * kLanes;
  for (int64_t column = 0; column < t.columns; column += kSquare) {
    const int64_t count = std::min(kSquare, t.columns - column);
    if (t.prefetches) PrefetchNextRows(t, column);
    int64_t row = 0;
    if (count == kSquare) {
      for (; row < whole_rows; row += kLanes) TransposeSquare<true>(t, row, column, count);
    }
    for (; row < t.rows; row += kLanes) TransposeSquare<false>(t, row, column, count);
  }
}

}  // namespace

const Loops kLoops{kLanes, Multiply, Depthwise, TransposeRows};

}  // namespace tessera::simd::TESSERA_VECTOR_ABI
