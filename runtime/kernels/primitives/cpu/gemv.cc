#include "runtime/kernels/primitives/cpu/gemv.h"

#include <immintrin.h>

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/gemv_rows.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {
namespace {

// Columns whose sums stay in the first-level cache.
constexpr int64_t kColumns = 4096;

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
      (HasAvx512() ? avx512::AddProduct : avx2::AddProduct)({.m = m,
                                                             .rows = end - begin,
                                                             .columns = count,
                                                             .k = k,
                                                             .n = n,
                                                             .a = a + begin,
                                                             .b = b + begin * n + first,
                                                             .sums = part + first});
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
