// The inner loop of a skinny GEMM, which reads the matrix row by row.
#pragma once

#include <cstdint>

namespace tessera {

// A product of `m` rows of `a`, which are k elements apart, and `rows` rows and `columns` columns
// of `b`. T is float, or uint16_t for the bits of bfloat16.
template <typename T>
struct GemvRowsOf {
  int64_t m = 0, rows = 0, columns = 0;
  int64_t k = 0;  // elements from one row of `a` to the next
  int64_t n = 0;  // elements from one row of `b`, or of `sums`, to the next
  const float* a = nullptr;
  const T* b = nullptr;
  float* sums = nullptr;
};
using GemvRows = GemvRowsOf<float>;

// Adds the product to m rows of `sums`. The matrix is read once, a few rows at a time. Compiled for
// AVX-512 (F, BW, DQ and VL), and for what every processor here has.
namespace avx512 {
void AddProduct(const GemvRows& rows);
void AddProduct(const GemvRowsOf<uint16_t>& rows);
}  // namespace avx512
namespace avx2 {
void AddProduct(const GemvRows& rows);
}

}  // namespace tessera
