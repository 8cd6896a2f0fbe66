#include "runtime/kernels/primitives/cpu/gemv.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/gemv_rows.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/post_op_rows.h"

namespace tessera {
namespace {

// The number of columns whose sums stay in the first-level cache.
constexpr int64_t kColumns = 4096;

// Returns the sum of each vector's lanes, added as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
__m128 SumEach(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 quarters = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(quarters), _mm256_extractf128_ps(quarters, 1));
}

// Loads eight elements as floats.
__m256 LoadFloats(const float* from) { return _mm256_loadu_ps(from); }
__m256 LoadFloats(const uint16_t* from) {
  const __m128i numbers = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(numbers), 16));
}

float FloatOf(float element) { return element; }
float FloatOf(uint16_t element) { return std::bit_cast<float>(uint32_t{element} << 16); }

// Adds to sums[i] the product of `x` and row i of `y`, for kRows rows of `count` elements. The
// order of the additions does not depend on kRows. Elements of type uint16_t are the bits of
// bfloat16.
template <int kRows, typename T>
void Dot(const float* x, const T* y, int64_t y_stride, int64_t count, float* sums) {
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
      const T* const row = y + i * y_stride + k;
      even[i] = _mm256_fmadd_ps(x0, LoadFloats(row), even[i]);
      odd[i] = _mm256_fmadd_ps(x1, LoadFloats(row + 8), odd[i]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) even[i] = _mm256_add_ps(even[i], odd[i]);
  float totals[4];
  _mm_storeu_ps(totals, SumEach(even[0], even[1], even[2], even[3]));
  for (int i = 0; i < kRows; ++i) {
    float rest = 0;
    for (int64_t j = k; j < count; ++j) rest += x[j] * FloatOf(y[i * y_stride + j]);
    sums[i] += totals[i] + rest;
  }
}

void AddProduct(const GemvRows& rows) {
  if (HasAvx512()) return avx512::AddProduct(rows);
  avx2::AddProduct(rows);
}
void AddProduct(const GemvRowsOf<uint16_t>& rows) { avx512::AddProduct(rows); }

template <typename T>
absl::Status Multiply(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_b,
                      const PostOps& post_ops, const float* a, const T* b, const float* bias,
                      float* output) {
  const double cost = sizeof(T) * static_cast<double>(n) * k / SpeedsForCpu().gemv_bytes;
  // Each chunk is a range of rows of b in memory. Unless these are the columns of the product, each
  // chunk computes partial sums. The first chunk computes them in the output, and the sums of the
  // others are added at the end.
  const int64_t rows = transpose_b ? n : k;
  const int64_t chunks = NumChunks(ctx, rows, cost);
  const int64_t size = (rows + chunks - 1) / chunks;
  const int64_t parts = transpose_b ? 1 : chunks;
  Tensor workspace;
  if (parts > 1) {
    ASSIGN_OR_RETURN(workspace, ctx.AllocateTemp(DType::kFloat, {parts - 1, m, n}));
    std::fill_n(workspace.data<float>(), workspace.num_elements(), 0.0f);
  }
  for (int64_t i = 0; i < m; ++i) StartSums(post_ops, bias, n, output + i * n);
  RETURN_IF_ERROR(ForEachChunk(ctx, chunks, cost / chunks, [&](int64_t chunk) {
    const int64_t begin = std::min(chunk * size, rows), end = std::min(begin + size, rows);
    if (transpose_b) {
      int64_t j = begin;
      for (; j + 4 <= end; j += 4) {
        for (int64_t i = 0; i < m; ++i) Dot<4>(a + i * k, b + j * k, k, k, output + i * n + j);
      }
      for (; j < end; ++j) {
        for (int64_t i = 0; i < m; ++i) Dot<1>(a + i * k, b + j * k, k, k, output + i * n + j);
      }
      return absl::OkStatus();
    }
    float* const sums = chunk == 0 ? output : workspace.data<float>() + (chunk - 1) * m * n;
    for (int64_t first = 0; first < n; first += kColumns) {
      AddProduct(GemvRowsOf<T>{.m = m,
                               .rows = end - begin,
                               .columns = std::min(kColumns, n - first),
                               .k = k,
                               .n = n,
                               .a = a + begin,
                               .b = b + begin * n + first,
                               .sums = sums + first});
    }
    return absl::OkStatus();
  }));
  for (int64_t part = 1; part < parts; ++part) {
    const float* const sums = workspace.data<float>() + (part - 1) * m * n;
    for (int64_t i = 0; i < m * n; ++i) output[i] += sums[i];
  }
  FinishSums(post_ops, m * n, output);
  return absl::OkStatus();
}

}  // namespace

absl::Status Gemv(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_b,
                  const PostOps& post_ops, const float* a, const float* b, const float* bias,
                  float* output) {
  return Multiply(ctx, m, n, k, transpose_b, post_ops, a, b, bias, output);
}

absl::Status Gemv(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_b,
                  const PostOps& post_ops, const float* a, const Eigen::bfloat16* b,
                  const float* bias, float* output) {
  return Multiply(ctx, m, n, k, transpose_b, post_ops, a, reinterpret_cast<const uint16_t*>(b),
                  bias, output);
}

}  // namespace tessera
