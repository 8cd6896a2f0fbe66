// Joins the products of a batch of matrices into fewer and larger ones.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/kernels/primitives/matmul.h"

namespace tessera {

// A run of matrices at equal distances. A distance of 0 broadcasts.
struct MatrixRun {
  int64_t count = 1, a_stride = 0, b_stride = 0;
  // The row stride, in elements, of a transposed `a` if the product takes only some of its columns;
  // 0 if it takes all.
  int64_t a_row = 0;
  // The row stride, in elements, of `b` and the output if the product takes only some of their
  // columns; 0 if it takes all.
  int64_t columns = 0;
};

// The products of a batch: `outer` runs, or a single product whose left-hand side is not
// transposed.
struct MatMulBatch {
  MatMulShape shape;
  MatrixRun run;
  int64_t outer = 1;
  bool is_single = false;
};

// Splits the batch into equal runs: the innermost dimensions whose distances are regular in both
// operands form one run, and the other dimensions are `outer` runs. A batch whose matrices share
// the right-hand side becomes the rows of one product.
MatMulBatch SplitBatch(const MatMulShape& given);

// Returns the offsets, in matrices, of batch item `index` in a and b.
std::pair<int64_t, int64_t> MatrixOffsets(const MatMulShape& s, int64_t index);

}  // namespace tessera
