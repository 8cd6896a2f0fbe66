#include "runtime/kernels/primitives/cpu/gemv.h"

#include <immintrin.h>

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {
namespace {

// Columns whose sums stay in the first-level cache.
constexpr int64_t kColumns = 4096;
// Rows that are added to the sums at a time.
constexpr int64_t kStrip = 4;
// Columns whose sums stay in registers while a strip is added.
constexpr int64_t kLane = 8, kBlock = 8 * kLane;

// Prefetches the strip after one, line by line in the order of memory: the hardware's prefetcher
// stops at the end of each page, and a strip is read block by block.
class StripPrefetch {
 public:
  // `next` is the strip, of rows of `count` columns; null: there is none.
  StripPrefetch(const float* next, int64_t count, int64_t stride)
      : at_(next), count_(count / kBlock), gap_(stride - count / kBlock * kBlock) {}

  // To be called for each row of each whole block of columns.
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

// sums[j] += the sum of a[i] * b[i * b_stride + j] over the rows, for kVectors vectors of columns.
template <int kVectors>
void AddBlock(const float* a, const float* b, int64_t b_stride, int64_t rows,
              StripPrefetch* prefetch, float* sums) {
  __m256 total[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) total[v] = _mm256_loadu_ps(sums + v * kLane);
  for (int64_t i = 0; i < rows; ++i) {
    if (prefetch != nullptr) prefetch->Step();
    const __m256 x = _mm256_broadcast_ss(a + i);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      total[v] = _mm256_fmadd_ps(x, _mm256_loadu_ps(b + i * b_stride + v * kLane), total[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(sums + v * kLane, total[v]);
}

// A product of `m` rows, k apart, by up to kStrip rows and `count` columns of `b`, which is added
// to m rows of `sums`, n apart.
struct Strip {
  int64_t m, k, n, rows, count;
  const float* a;
  const float* b;
  bool is_last;
  float* sums;
};

void AddStrip(const Strip& s) {
  StripPrefetch prefetch(s.is_last ? nullptr : s.b + kStrip * s.n, s.count, s.n);
  int64_t j = 0;
  for (; j + kBlock <= s.count; j += kBlock) {
    for (int64_t i = 0; i < s.m; ++i) {
      AddBlock<kBlock / kLane>(s.a + i * s.k, s.b + j, s.n, s.rows, i == 0 ? &prefetch : nullptr,
                               s.sums + i * s.n + j);
    }
  }
  for (int64_t i = 0; i < s.m; ++i) {
    int64_t column = j;
    for (; column + kLane <= s.count; column += kLane) {
      AddBlock<1>(s.a + i * s.k, s.b + column, s.n, s.rows, nullptr, s.sums + i * s.n + column);
    }
    for (; column < s.count; ++column) {
      float& sum = s.sums[i * s.n + column];
      for (int64_t row = 0; row < s.rows; ++row)
        sum += s.a[i * s.k + row] * s.b[row * s.n + column];
    }
  }
}

// The sum of each vector: ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
__m128 SumEach(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 quarters = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(quarters), _mm256_extractf128_ps(quarters, 1));
}

// sums[i] = the product of `x` and row i of kRows rows of `y`, both of `count` elements. The order
// of additions does not depend on kRows.
template <int kRows>
void Dot(const float* x, const float* y, int64_t y_stride, int64_t count, float* sums) {
  static_assert(kRows == 1 || kRows == 4);
  constexpr int64_t kStep = 16;
  __m256 even[4], odd[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) even[i] = odd[i] = _mm256_setzero_ps();
  int64_t k = 0;
  for (; k + kStep <= count; k += kStep) {
    const __m256 x0 = _mm256_loadu_ps(x + k), x1 = _mm256_loadu_ps(x + k + 8);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const float* const row = y + i * y_stride + k;
      even[i] = _mm256_fmadd_ps(x0, _mm256_loadu_ps(row), even[i]);
      odd[i] = _mm256_fmadd_ps(x1, _mm256_loadu_ps(row + 8), odd[i]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) even[i] = _mm256_add_ps(even[i], odd[i]);
  float totals[4];
  _mm_storeu_ps(totals, SumEach(even[0], even[1], even[2], even[3]));
  for (int i = 0; i < kRows; ++i) {
    float rest = 0;
    for (int64_t j = k; j < count; ++j) rest += x[j] * y[i * y_stride + j];
    sums[i] = totals[i] + rest;
  }
}

}  // namespace

absl::Status Gemv(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_b,
                  const PostOps& post_ops, const float* a, const float* b, const float* bias,
                  float* output) {
  const double cost = sizeof(float) * static_cast<double>(n) * k / SpeedsForCpu().gemv_bytes;
  // Each chunk is a range of rows of b in memory. Unless these are the columns of the product, each
  // chunk makes partial sums, which are added at the end.
  const int64_t rows = transpose_b ? n : k;
  const int64_t chunks = NumChunks(ctx, rows, cost);
  const int64_t size = (rows + chunks - 1) / chunks;
  const int64_t parts = transpose_b ? 1 : chunks;
  ASSIGN_OR_RETURN(Tensor workspace, ctx.AllocateTemp(DType::kFloat, {parts, m, n}));
  float* const sums = workspace.data<float>();
  RETURN_IF_ERROR(ForEachChunk(ctx, chunks, cost / chunks, [&](int64_t chunk) {
    const int64_t begin = std::min(chunk * size, rows), end = std::min(begin + size, rows);
    if (transpose_b) {
      int64_t j = begin;
      for (; j + 4 <= end; j += 4) {
        for (int64_t i = 0; i < m; ++i) Dot<4>(a + i * k, b + j * k, k, k, sums + i * n + j);
      }
      for (; j < end; ++j) {
        for (int64_t i = 0; i < m; ++i) Dot<1>(a + i * k, b + j * k, k, k, sums + i * n + j);
      }
      return absl::OkStatus();
    }
    float* const part = sums + chunk * m * n;
    std::fill_n(part, m * n, 0.0f);
    for (int64_t first = 0; first < n; first += kColumns) {
      const int64_t count = std::min(kColumns, n - first);
      for (int64_t p = begin; p < end; p += kStrip) {
        AddStrip({.m = m,
                  .k = k,
                  .n = n,
                  .rows = std::min(kStrip, end - p),
                  .count = count,
                  .a = a + p,
                  .b = b + p * n + first,
                  .is_last = p + kStrip >= end,
                  .sums = part + first});
      }
    }
    return absl::OkStatus();
  }));
  for (int64_t part = 1; part < parts; ++part) {
    for (int64_t i = 0; i < m * n; ++i) sums[i] += sums[part * m * n + i];
  }
  for (int64_t i = 0; i < m; ++i) ApplyPostOps(post_ops, sums + i * n, bias, n, output + i * n);
  return absl::OkStatus();
}

}  // namespace tessera
