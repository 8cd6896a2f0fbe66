#include "runtime/kernels/primitives/cpu/gemv.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {
namespace {

// Columns whose sums stay in the first-level cache.
constexpr int64_t kColumns = 4096;
constexpr int64_t kRowsPerStep = 4;
constexpr int64_t kLine = 16;  // floats
// The prefetch distance. The hardware prefetcher stops at the end of a page.
constexpr int64_t kPrefetchDistance = 32 * kLine;

// Prefetches the lines of kRowsPerStep rows of `b` that are read kPrefetchDistance columns after
// column j. After the last of `count` columns the next rows follow.
void Prefetch(const float* b, int64_t b_stride, int64_t j, int64_t count) {
  j += kPrefetchDistance;
  const float* const prefetch = j < count ? b + j : b + kRowsPerStep * b_stride + (j - count);
  for (int64_t row = 0; row < kRowsPerStep; ++row) __builtin_prefetch(prefetch + row * b_stride);
}

// sums[j] += the sum of a[i] * b[i * b_stride + j] over up to kRowsPerStep rows of `b`. The sums
// are read and written once for all of them. `is_first` means that the rows of `b` are not in the
// cache yet.
void AddRows(const float* a, const float* b, int64_t b_stride, int64_t rows, int64_t count,
             bool is_first, float* sums) {
  if (rows == kRowsPerStep) {
    const float x0 = a[0], x1 = a[1], x2 = a[2], x3 = a[3];
    const float* const b1 = b + b_stride;
    const float* const b2 = b1 + b_stride;
    const float* const b3 = b2 + b_stride;
    int64_t line = 0;
    for (; line + kLine <= count; line += kLine) {
      if (is_first) Prefetch(b, b_stride, line, count);
#pragma GCC ivdep
      for (int64_t j = line; j < line + kLine; ++j) {
        sums[j] += (x0 * b[j] + x1 * b1[j]) + (x2 * b2[j] + x3 * b3[j]);
      }
    }
    for (int64_t j = line; j < count; ++j) {
      sums[j] += (x0 * b[j] + x1 * b1[j]) + (x2 * b2[j] + x3 * b3[j]);
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) sums[j] += a[i] * b[i * b_stride + j];
  }
}

float Dot(const float* x, const float* y, int64_t count) {
  constexpr int kLanes = 32;
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane] * y[i + lane];
  }
  float sum = 0;
  for (; i < count; ++i) sum += x[i] * y[i];
  for (const float lane : lanes) sum += lane;
  return sum;
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
      for (int64_t j = begin; j < end; ++j) {
        for (int64_t i = 0; i < m; ++i) sums[i * n + j] = Dot(a + i * k, b + j * k, k);
      }
      return absl::OkStatus();
    }
    float* const part = sums + chunk * m * n;
    std::fill_n(part, m * n, 0.0f);
    for (int64_t first = 0; first < n; first += kColumns) {
      const int64_t count = std::min(kColumns, n - first);
      for (int64_t p = begin; p < end; p += kRowsPerStep) {
        for (int64_t i = 0; i < m; ++i) {
          AddRows(a + i * k + p, b + p * n + first, n, std::min(kRowsPerStep, end - p), count,
                  i == 0, part + i * n + first);
        }
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
