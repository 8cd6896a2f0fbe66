// Matrix products of half that round after each step, in the order of Eigen's products, with which
// TensorFlow's CPU kernels compute the gradients of convolutions of half.
//
//   StepwiseGemm product{.rows = 27, .columns = 8, .depth = 400, ...};
//   product.Run(0, 27);
#pragma once

#include <cstdint>

namespace tessera {

// The columns that rows of a StepwiseGemm have in memory: whole vectors.
constexpr int64_t StepwiseStride(int64_t columns) { return (columns + 7) / 8 * 8; }

// c = a b, or c += a b with one more rounding. All values are halves, held as floats. Rows of `b`
// and `c` are StepwiseStride(columns) elements apart; those after the last column may have any
// value.
//
// The order of the additions depends on the place of an element: rows count in fours from row 0,
// and columns in sixteens from column 0. Products by element have one order for all.
struct StepwiseGemm {
  int64_t rows, columns, depth;
  const float* a;  // element (row, k) at a[row * row_stride + k * depth_stride]
  int64_t row_stride, depth_stride;
  const float* b;  // depth x columns
  float* c;        // rows x columns
  bool adds;
  bool by_element = false;

  // Computes the rows [begin, end). Requires `begin` to be a multiple of four, and `end` to be one
  // or the number of rows.
  void Run(int64_t begin, int64_t end) const;
};

// Returns how deep the products are that Eigen makes of a product of this size: it adds them up.
int64_t StepwiseDepth(int64_t rows, int64_t columns, int64_t depth);

}  // namespace tessera
