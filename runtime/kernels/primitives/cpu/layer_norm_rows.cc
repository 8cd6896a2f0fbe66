#include "runtime/kernels/primitives/cpu/layer_norm_rows.h"

#include "runtime/kernels/primitives/cpu/simd_vectors.h"

namespace tessera::TESSERA_VECTOR_ABI {
namespace {

// Returns the mean of term(x) over a row. `term` takes floats and vectors of floats.
template <typename Term>
float MeanOf(const float* x, int64_t count, Term term) {
  constexpr int kSums = 4;  // independent sums, so that additions need not wait for each other
  Vector sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kLanes <= count; i += kSums * kLanes) {
#pragma GCC unroll 4
    for (int s = 0; s < kSums; ++s) sums[s] += term(Load(x + i + s * kLanes));
  }
  for (; i + kLanes <= count; i += kLanes) sums[0] += term(Load(x + i));
  float rest = 0;
  for (; i < count; ++i) rest += term(x[i]);
  const float sum = SumOfLanes((sums[0] + sums[1]) + (sums[2] + sums[3]))[0] + rest;
  return sum / static_cast<float>(count);
}

// Computes y = x + addend for one row and prefetches the next row.
void AddRow(const float* x, const float* addend, int64_t count, float* y) {
  constexpr int64_t kLine = 16;  // floats of a cache line
  int64_t i = 0;
  for (; i + kLine <= count; i += kLine) {
    __builtin_prefetch(x + i + count);
    __builtin_prefetch(addend + i + count);
#pragma GCC unroll 2
    for (int64_t at = i; at < i + kLine; at += kLanes) {
      Store(Load(x + at) + Load(addend + at), y + at);
    }
  }
  for (; i < count; ++i) y[i] = x[i] + addend[i];
}

}  // namespace

void Normalise(const LayerNormRows& r) {
  for (int64_t row = 0; row < r.rows; ++row) {
    const float* x = r.x + row * r.columns;
    float* const y = r.y + row * r.columns;
    if (r.addend != nullptr) {
      AddRow(x, r.addend + row * r.columns, r.columns, y);
      x = y;
    }
    const float mean = MeanOf(x, r.columns, [](auto value) { return value; });
    const float variance =
        MeanOf(x, r.columns, [=](auto value) { return (value - mean) * (value - mean); });
    const float scale = 1.0f / __builtin_sqrtf(variance + r.epsilon);
    const float *const gamma = r.gamma, *const beta = r.beta;
#pragma GCC ivdep
    for (int64_t i = 0; i < r.columns; ++i) y[i] = (x[i] - mean) * (scale * gamma[i]) + beta[i];
  }
}

}  // namespace tessera::TESSERA_VECTOR_ABI
