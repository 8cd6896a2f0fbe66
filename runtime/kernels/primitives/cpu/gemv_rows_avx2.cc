#include "runtime/kernels/primitives/cpu/gemv_rows.h"
#include "runtime/kernels/primitives/cpu/simd_vectors.h"

namespace tessera::avx2 {
namespace {

// The number of rows that are added to the sums of a block at a time.
constexpr int64_t kStrip = 4;
// The number of vectors in a block of columns. Their sums stay in registers, and take half of them.
constexpr int kVectors = 8;
constexpr int64_t kBlock = kVectors * kLanes;

// Prefetches the next strip, line by line in the order of memory. The hardware's prefetcher does
// not, because a strip is read block by block, and because it stops at the end of each page.
class StripPrefetch {
 public:
  // `next` is the next strip, with rows of `count` columns, or null if there is none.
  StripPrefetch(const float* next, int64_t count, int64_t stride)
      : at_(next), count_(count / kBlock), gap_(stride - count / kBlock * kBlock) {}

  // Prefetches one part. It is called for each row of each whole block of columns.
  void Step() {
    if (at_ == nullptr) return;
    constexpr int64_t kLine = 16;  // floats
#pragma GCC unroll 4
    for (int64_t i = 0; i < kBlock; i += kLine) __builtin_prefetch(at_ + i);
    at_ += kBlock;
    if (++block_ == count_) {
      at_ += gap_;
      block_ = 0;
    }
  }

 private:
  const float* at_;
  const int64_t count_, gap_;
  int64_t block_ = 0;
};

// Adds to sums[j] the sum of a[i] * b[i * b_stride + j] over the rows, for kCount vectors of
// columns. `prefetch` may be null.
template <int kCount>
void AddBlock(const float* a, const float* b, int64_t b_stride, int64_t rows,
              StripPrefetch* prefetch, float* sums) {
  Vector total[kCount];
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) total[v] = Load(sums + v * kLanes);
  for (int64_t i = 0; i < rows; ++i) {
    if (prefetch != nullptr) prefetch->Step();
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) total[v] += a[i] * Load(b + i * b_stride + v * kLanes);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) Store(total[v], sums + v * kLanes);
}

// Adds the product of the rows [first, first + count) for all whole blocks of kCount vectors from
// column `j` on. Returns the first column after these blocks.
template <int kCount>
int64_t AddBlocks(const GemvRows& p, int64_t first, int64_t count, int64_t j,
                  StripPrefetch* prefetch) {
  for (; j + kCount * kLanes <= p.columns; j += kCount * kLanes) {
    for (int64_t i = 0; i < p.m; ++i) {
      AddBlock<kCount>(p.a + i * p.k + first, p.b + first * p.n + j, p.n, count,
                       i == 0 ? prefetch : nullptr, p.sums + i * p.n + j);
    }
  }
  return j;
}

// Adds the product of the rows [first, first + count).
void AddStrip(const GemvRows& p, int64_t first, int64_t count) {
  const bool has_next = first + kStrip < p.rows;
  StripPrefetch prefetch(has_next ? p.b + (first + kStrip) * p.n : nullptr, p.columns, p.n);
  int64_t j = AddBlocks<kVectors>(p, first, count, 0, &prefetch);
  j = AddBlocks<4>(p, first, count, j, nullptr);
  j = AddBlocks<1>(p, first, count, j, nullptr);
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

}  // namespace tessera::avx2
