// The operands of an elementwise loop: where their elements lie.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "runtime/tensor/shape.h"

namespace tessera {

inline constexpr int kMaxOperands = 4;

// `rows` times `columns` elements of each operand; operand 0 is the result. Strides count bytes, 0
// repeats an element. The result's element may be the very element of an operand at the same place
// (work in place), but overlaps no other.
struct LoopBlock {
  char* data[kMaxOperands];
  int64_t column_stride[kMaxOperands];
  int64_t row_stride[kMaxOperands];
  int64_t columns;
  int64_t rows;
};

using ByteStrides = absl::InlinedVector<int64_t, 6>;

// Strides of a row-major array of `element_size` bytes an element.
ByteStrides RowMajorByteStrides(const Shape& shape, int64_t element_size);
// Strides that let an array of `shape` be read as one of `result`, to which it broadcasts.
ByteStrides BroadcastByteStrides(const Shape& shape, const Shape& result, int64_t element_size);

// Operands of any shape that broadcast together.
//
//   StridedOperands operands(shape.dims());
//   operands.Add(z->address(), RowMajorByteStrides(shape, 4));
//   operands.Add(x.address(), BroadcastByteStrides(x.shape(), shape, 4));
//   operands.Coalesce();
//
// The result comes first. As for a LoopBlock, its elements overlap none of an operand but those at
// the same place.
class StridedOperands {
 public:
  explicit StridedOperands(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  // `strides` has one entry a dimension. At most kMaxOperands.
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
