// The index arithmetic of StridedSlice and its relatives, which their shape function and their kernels
// share. Nothing here copies elements.
#pragma once

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "runtime/framework/attr_value.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// The mask attributes. Bit i belongs to entry i of begin, end and strides.
struct StridedSliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;

  // Errors: those of GetAttr().
  static absl::StatusOr<StridedSliceMasks> FromAttrs(const AttrMap& attrs);
};

// A resolved slice. It takes the elements begin[d] + i * strides[d], 0 <= i < sizes[d], of dimension d.
// `shape` is the shape of the result, with new axes inserted and shrunk ones dropped.
struct StridedSliceSpec {
  using Vector = absl::InlinedVector<int64_t, 8>;

  Vector begin, strides;
  Vector sizes;  // -1 if it depends on an unknown dimension of the tensor
  PartialShape shape;

  // Resolves the operands against the shape of the sliced tensor, whose rank must be known. If one of its
  // dimensions is unknown, the size of the slice in it is unknown as well, unless the axis is shrunk.
  // Errors: INVALID_ARGUMENT for operands of different lengths, a zero stride, two ellipses, more
  // entries than dimensions, or a shrunk index out of range.
  static absl::StatusOr<StridedSliceSpec> Make(const PartialShape& input,
                                               absl::Span<const int64_t> begin,
                                               absl::Span<const int64_t> end,
                                               absl::Span<const int64_t> strides,
                                               const StridedSliceMasks& masks);

  // Returns true if the elements of the slice lie one after the other in a row-major tensor of shape
  // `input`, from Offset() on.
  bool IsContiguous(const Shape& input) const;
  // Return the slice as an offset and strides, both counted in elements of a row-major tensor of shape
  // `input`.
  int64_t Offset(const Shape& input) const;
  Vector ElementStrides(const Shape& input) const;
};

}  // namespace tessera
