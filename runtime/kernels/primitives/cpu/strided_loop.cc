#include "runtime/kernels/primitives/cpu/strided_loop.h"

#include <algorithm>

namespace tessera {
namespace {

// Runs elements [begin, end) in row-major order: the rest of the first row, rectangles of whole
// rows, and the start of the last row.
void RunRange(const StridedOperands& operands, int64_t begin, int64_t end, InnerLoop inner) {
  const int rank = operands.rank(), num_operands = operands.num_operands();
  const int64_t columns = rank > 0 ? operands.dim(rank - 1) : 1;
  const int64_t rows = rank > 1 ? operands.dim(rank - 2) : 1;
  LoopBlock block;
  for (int o = 0; o < num_operands; ++o) {
    block.column_stride[o] = rank > 0 ? operands.stride(o, rank - 1) : 0;
    block.row_stride[o] = rank > 1 ? operands.stride(o, rank - 2) : 0;
  }
  while (begin < end) {
    const int64_t column = begin % columns;
    const int64_t row = begin / columns % rows;
    if (column != 0 || end - begin < columns) {
      block.rows = 1;
      block.columns = std::min(columns - column, end - begin);
    } else {
      block.rows = std::min(rows - row, (end - begin) / columns);
      block.columns = columns;
    }
    int64_t offset[kMaxOperands] = {};
    for (int64_t rest = begin, d = rank - 1; d >= 0; --d) {
      const int64_t index = rest % operands.dim(d);
      rest /= operands.dim(d);
      for (int o = 0; o < num_operands; ++o) offset[o] += index * operands.stride(o, d);
    }
    for (int o = 0; o < num_operands; ++o) block.data[o] = operands.data(o) + offset[o];
    inner(block);
    begin += block.rows * block.columns;
  }
}

}  // namespace

void RunStridedLoop(StridedOperands operands, ThreadPool* pool, double cost_per_element,
                    InnerLoop inner) {
  operands.Coalesce();
  ParallelFor(pool, operands.num_elements(), cost_per_element,
              [&](int64_t begin, int64_t end) { RunRange(operands, begin, end, inner); });
}

}  // namespace tessera
