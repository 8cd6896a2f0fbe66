#include "runtime/kernels/primitives/cpu/strided_loop.h"

#include <algorithm>

namespace tessera {

ByteStrides RowMajorByteStrides(const Shape& shape, int64_t element_size) {
  ByteStrides strides(shape.rank());
  int64_t stride = element_size;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape.dim(i);
  }
  return strides;
}

ByteStrides BroadcastByteStrides(const Shape& shape, const Shape& result, int64_t element_size) {
  ByteStrides strides(result.rank(), 0);
  const int offset = result.rank() - shape.rank();
  int64_t stride = element_size;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape.dim(i) != 1) strides[i + offset] = stride;
    stride *= shape.dim(i);
  }
  return strides;
}

void StridedLoop::AddOperand(const void* data, absl::Span<const int64_t> strides) {
  data_[num_operands_] = const_cast<char*>(static_cast<const char*>(data));
  strides_[num_operands_].assign(strides.begin(), strides.end());
  ++num_operands_;
}

// Drops dimensions of one element and merges neighbours, in place. `kept` counts the dimensions
// that stay, which are the first ones.
void StridedLoop::Coalesce() {
  int kept = 0;
  for (int d = 0; d < static_cast<int>(dims_.size()); ++d) {
    if (dims_[d] == 1) continue;
    bool merges = kept > 0;
    for (int o = 0; merges && o < num_operands_; ++o) {
      merges = strides_[o][kept - 1] == strides_[o][d] * dims_[d];
    }
    if (merges) {
      dims_[kept - 1] *= dims_[d];
    } else {
      dims_[kept] = dims_[d];
    }
    const int target = merges ? kept - 1 : kept++;
    for (int o = 0; o < num_operands_; ++o) strides_[o][target] = strides_[o][d];
  }
  dims_.resize(kept);
}

void StridedLoop::Run(ThreadPool* pool, double cost_per_element, InnerLoop inner) {
  Coalesce();
  int64_t total = 1;
  for (int64_t d : dims_) total *= d;
  ParallelFor(pool, total, cost_per_element,
              [&](int64_t begin, int64_t end) { RunRange(begin, end, inner); });
}

// Elements [begin, end) in row-major order: the rest of a first row, rectangles of whole rows, and
// the start of a last row.
void StridedLoop::RunRange(int64_t begin, int64_t end, InnerLoop inner) const {
  const int rank = static_cast<int>(dims_.size());
  const int64_t columns = rank > 0 ? dims_[rank - 1] : 1;
  const int64_t rows = rank > 1 ? dims_[rank - 2] : 1;
  LoopBlock block;
  for (int o = 0; o < num_operands_; ++o) {
    block.column_stride[o] = rank > 0 ? strides_[o][rank - 1] : 0;
    block.row_stride[o] = rank > 1 ? strides_[o][rank - 2] : 0;
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
      const int64_t index = rest % dims_[d];
      rest /= dims_[d];
      for (int o = 0; o < num_operands_; ++o) offset[o] += index * strides_[o][d];
    }
    for (int o = 0; o < num_operands_; ++o) block.data[o] = data_[o] + offset[o];
    inner(block);
    begin += block.rows * block.columns;
  }
}

}  // namespace tessera
