// Inner loops for small matrix products and depthwise convolutions. Columns, or channels, are
// grouped in panels of a few vectors, and the operands lie panel by panel, so that each loop walks
// memory in order.
//
// Pure functions, compiled once for AVX-512 and once for AVX2.
#pragma once

#include <cstdint>

namespace tessera::simd {

// The largest number of vectors in a panel.
inline constexpr int kMaxVectors = 4;

// Clamp limits applied before storing; infinite when there is no clamp. NaN passes through.
struct Bounds {
  float low = 0, high = 0;
};

// The rows that are read next. They are prefetched, because they may not be in the cache yet.
struct PrefetchRows {
  const float* data = nullptr;
  int64_t size = 0;  // floats of a row
  int64_t rows = 1;
  int64_t step = 0;  // from row to row
};

// The product of rows and one panel of a matrix: out(i, j) = clamp(sum of a(i, k) * weights(k, j) +
// bias(j) + addend(i, j)).
struct Multiplication {
  int64_t rows = 0, depth = 0;
  int64_t columns = 0;  // the number of columns to store, at most the panel's
  const float* a = nullptr;
  int64_t a_stride = 0;            // from row to row
  const float* weights = nullptr;  // depth x the panel's columns
  int64_t weights_stride = 0;      // from term to term
  const float* bias = nullptr;     // the panel's columns; null: none
  const float* addend = nullptr;   // null: none; may be out
  int64_t addend_stride = 0;
  Bounds bounds;
  float* out = nullptr;
  int64_t out_stride = 0;
  PrefetchRows prefetch;
};

// One output row of a depthwise convolution, in one panel.
struct DepthwiseRow {
  int64_t outputs = 0;
  // The input row under each row of the filter. Filter column x of output i reads the point i *
  // stride + x * dilation.
  const float* const* rows = nullptr;
  int64_t height = 0, width = 0;  // of the filter
  int64_t stride = 1, dilation = 1;
  const float* weights = nullptr;  // [height * width, panel]
  const float* bias = nullptr;
  Bounds bounds;
  float* out = nullptr;
  int64_t out_stride = 0;  // from output to output
};

// A transposition: to(j, i) = from(i, j), or 0 where there is no row i. Rows that fill a cache line
// of `to` fill it at once, so that it need not stay in the first-level cache.
struct Transposition {
  int64_t rows = 0;
  int64_t columns = 0;
  const float* from = nullptr;
  int64_t from_stride = 0;  // from row to row
  float* to = nullptr;      // columns x as many whole vectors as hold the rows
  int64_t to_stride = 0;
  // The rows that are transposed next, as many, follow these in `from`, and are prefetched.
  bool prefetches = false;
};

struct Loops {
  int64_t lanes;  // floats of a vector
  // Both functions take the number of vectors in a panel.
  void (*multiply)(int64_t vectors, const Multiplication& m);
  void (*depthwise)(int64_t vectors, const DepthwiseRow& row);
  void (*transpose)(const Transposition& t);
};

namespace avx512 {
extern const Loops kLoops;
}
namespace avx2 {
extern const Loops kLoops;
}

// Returns the fastest loops for the CPU features detected at start.
const Loops& LoopsForCpu();

}  // namespace tessera::simd
