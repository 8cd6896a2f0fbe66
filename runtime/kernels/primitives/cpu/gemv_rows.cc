#include "runtime/kernels/primitives/cpu/gemv_rows.h"

#include "runtime/kernels/primitives/cpu/simd_vectors.h"

#ifdef __AVX512F__
namespace tessera::avx512 {
#else
namespace tessera::avx2 {
#endif
namespace {

// Rows that are added to the sums of a block at a time.
constexpr int64_t kStrip = 8;
// Vectors of a block of columns, whose sums stay in registers meanwhile: half of the registers.
constexpr int kVectors = kLanes == 16 ? 16 : 8;

// sums[j] += the sum of a[i] * b[i * b_stride + j] over the rows, for kCount vectors of columns.
template <int kCount>
void AddBlock(const float* a, const float* b, int64_t b_stride, int64_t rows, float* sums) {
  Vector total[kCount];
#pragma GCC unroll 16
  for (int v = 0; v < kCount; ++v) total[v] = Load(sums + v * kLanes);
  for (int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kCount; ++v) total[v] += a[i] * Load(b + i * b_stride + v * kLanes);
  }
#pragma GCC unroll 16
  for (int v = 0; v < kCount; ++v) Store(total[v], sums + v * kLanes);
}

// Adds the product of the rows [first, first + count) for as many blocks of kCount vectors as there
// are from column `j` on. Returns the first column after them.
template <int kCount>
int64_t AddBlocks(const GemvRows& p, int64_t first, int64_t count, int64_t j) {
  for (; j + kCount * kLanes <= p.columns; j += kCount * kLanes) {
    for (int64_t i = 0; i < p.m; ++i) {
      AddBlock<kCount>(p.a + i * p.k + first, p.b + first * p.n + j, p.n, count,
                       p.sums + i * p.n + j);
    }
  }
  return j;
}

// Adds the product of the rows [first, first + count).
void AddStrip(const GemvRows& p, int64_t first, int64_t count) {
  int64_t j = AddBlocks<kVectors>(p, first, count, 0);
  j = AddBlocks<4>(p, first, count, j);
  j = AddBlocks<1>(p, first, count, j);
  for (; j < p.columns; ++j) {
    for (int64_t i = 0; i < p.m; ++i) {
      float& sum = p.sums[i * p.n + j];
      for (int64_t row = first; row < first + count; ++row) {
        sum += p.a[i * p.k + row] * p.b[row * p.n + j];
      }
    }
  }
}

}  // namespace

void AddProduct(const GemvRows& p) {
  int64_t first = 0;
  for (; first + kStrip <= p.rows; first += kStrip) AddStrip(p, first, kStrip);
  if (first < p.rows) AddStrip(p, first, p.rows - first);
}

}  // namespace tessera::avx512 or ::avx2
