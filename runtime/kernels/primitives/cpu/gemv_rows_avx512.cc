#include <immintrin.h>

#include <algorithm>

#include "runtime/kernels/primitives/cpu/gemv_rows.h"
#include "runtime/kernels/primitives/cpu/simd_vectors.h"

namespace tessera::avx512 {
namespace {

// The number of rows that are added to the sums at a time. Each row is one stream for the
// hardware's prefetcher, which follows this many. The sums are loaded from the first-level cache
// and stored there.
constexpr int kStrip = 8;
// The number of columns of a strip that stay in the first-level cache while several rows are
// multiplied by them.
constexpr int64_t kCachedColumns = 512;

// Converts bfloat16 numbers to floats, by shifting their bits into the upper halves.
Vector Widen(__m256i numbers) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16));
}

// Load a vector of the matrix. The second form loads only the lanes in `mask`.
Vector LoadRow(const float* from) { return Load(from); }
Vector LoadRow(const uint16_t* from) {
  return Widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
Vector LoadRow(__mmask16 mask, const float* from) { return _mm512_maskz_loadu_ps(mask, from); }
Vector LoadRow(__mmask16 mask, const uint16_t* from) {
  return Widen(_mm256_maskz_loadu_epi16(mask, from));
}

// Adds factors[0] * b[j] + factors[1] * b[stride + j] + ... to sums[j], for the first `columns`
// lanes of a vector.
template <int kRows, typename T>
void AddPart(const Vector (&factors)[kRows], const T* b, int64_t stride, int64_t columns,
             float* sums) {
  const auto mask = static_cast<__mmask16>((1 << columns) - 1);
  __m512 sum = _mm512_maskz_loadu_ps(mask, sums);
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
    sum = _mm512_fmadd_ps(factors[row], LoadRow(mask, b + row * stride), sum);
  }
  _mm512_mask_storeu_ps(sums, mask, sum);
}

// Adds a[0] * b[j] + a[1] * b[stride + j] + ... to sums[j], for kRows rows of `b`.
template <int kRows, typename T>
void AddRows(const float* a, const T* b, int64_t stride, int64_t columns, float* sums) {
  Vector factors[kRows];
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) factors[row] = Vector{} + a[row];
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    Vector sum = Load(sums + j);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) sum += factors[row] * LoadRow(b + row * stride + j);
    Store(sum, sums + j);
  }
  if (j < columns) AddPart(factors, b + j, stride, columns - j, sums + j);
}

// Returns the number of columns before the first one at which a vector is aligned to cache lines in
// every row. Weights in a mapped file have any alignment, and vectors that span two lines read each
// line twice.
template <typename T>
int64_t ColumnsBeforeLine(const GemvRowsOf<T>& p) {
  if (p.n % kLanes != 0) return 0;
  const int64_t misplaced = reinterpret_cast<uintptr_t>(p.b) / sizeof(T) % kLanes;
  return misplaced == 0 ? 0 : std::min<int64_t>(kLanes - misplaced, p.columns);
}

// Adds the product of kRows rows from row `first` on to all rows of sums.
template <int kRows, typename T>
void AddStrip(const GemvRowsOf<T>& p, int64_t head, int64_t first) {
  const int64_t most = p.m == 1 ? p.columns : kCachedColumns;
  for (int64_t j = 0, columns = 0; j < p.columns; j += columns) {
    columns = std::min(j < head ? head : most, p.columns - j);
    for (int64_t i = 0; i < p.m; ++i) {
      AddRows<kRows>(p.a + i * p.k + first, p.b + first * p.n + j, p.n, columns,
                     p.sums + i * p.n + j);
    }
  }
}

template <typename T>
void AddRowsOf(const GemvRowsOf<T>& p) {
  const int64_t head = ColumnsBeforeLine(p);
  int64_t first = 0;
  for (; first + kStrip <= p.rows; first += kStrip) AddStrip<kStrip>(p, head, first);
  for (; first + 2 <= p.rows; first += 2) AddStrip<2>(p, head, first);
  if (first < p.rows) AddStrip<1>(p, head, first);
}

}  // namespace

void AddProduct(const GemvRows& p) { AddRowsOf(p); }
void AddProduct(const GemvRowsOf<uint16_t>& p) { AddRowsOf(p); }

}  // namespace tessera::avx512
