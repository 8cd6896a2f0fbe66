// The memory layout of the operands of an elementwise loop.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/tensor/shape.h"

namespace tessera {

inline constexpr int kMaxOperands = 4;

// A block of `rows` times `columns` elements of each operand, where operand 0 is the result.
// Strides count bytes, and 0 repeats an element. An element of the result may be the same memory as
// the element of an operand at the same position, which is work in place, but may overlap no other
// element.
struct LoopBlock {
  char* data[kMaxOperands];
  int64_t column_stride[kMaxOperands];
  int64_t row_stride[kMaxOperands];
  int64_t columns;
  int64_t rows;
};

using ByteStrides = absl::InlinedVector<int64_t, 6>;

// Returns the strides of a row-major array whose elements have `element_size` bytes.
ByteStrides RowMajorByteStrides(const Shape& shape, int64_t element_size);
// Returns the strides that broadcast an array of `shape` to `result`.
ByteStrides BroadcastByteStrides(const Shape& shape, const Shape& result, int64_t element_size);

// Operands of any shape that broadcast together.
//
//   StridedOperands operands(shape.dims());
//   operands.Add(z->address(), RowMajorByteStrides(shape, 4));
//   operands.Add(x.address(), BroadcastByteStrides(x.shape(), shape, 4));
//   operands.Coalesce();
//
// The result comes first. As in a LoopBlock, its elements may overlap only elements of an operand
// at the same position.
class StridedOperands {
 public:
  explicit StridedOperands(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  // Adds an operand, of which there may be kMaxOperands. `strides` has one entry for each
  // dimension.
  void Add(const void* data, absl::Span<const int64_t> strides);
  // Drops dimensions of one element and merges those that all operands walk through without a gap,
  // so that most loops have one dimension or two.
  void Coalesce();

  int num_operands() const { return num_operands_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int d) const { return dims_[d]; }
  int64_t num_elements() const;
  char* data(int operand) const { return data_[operand]; }
  int64_t stride(int operand, int d) const { return strides_[operand][d]; }

 private:
  absl::InlinedVector<int64_t, 6> dims_;
  int num_operands_ = 0;
  char* data_[kMaxOperands];
  ByteStrides strides_[kMaxOperands];
};

}  // namespace tessera
