// The arithmetic of StridedSlice and its relatives, apart from any copying: what the shape function
// and the kernels share.
#pragma once

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "runtime/framework/attr_value.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// The mask attributes: bit i speaks of entry i of begin, end and strides.
struct StridedSliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;

  // Errors: those of GetAttr().
  static absl::StatusOr<StridedSliceMasks> FromAttrs(const AttrMap& attrs);
};

// What a slice takes from a tensor: from dimension d the elements begin[d] + i * strides[d] for
// 0 <= i < sizes[d]. `shape` is the result's: new axes inserted, shrunk ones dropped.
struct StridedSliceSpec {
  using Vector = absl::InlinedVector<int64_t, 8>;

  Vector begin, strides;
  Vector sizes;  // -1 where the tensor's dimension is unknown and matters
  PartialShape shape;

  // Resolves the operands against the sliced tensor's shape, whose rank must be known. Where one of
  // its dimensions is unknown, so is the size of what is taken, unless one element is.
  // Errors: INVALID_ARGUMENT for operands of different lengths, a zero stride, two ellipses, more
  // entries than dimensions, or a shrunk index out of range.
  static absl::StatusOr<StridedSliceSpec> Make(const PartialShape& input,
                                               absl::Span<const int64_t> begin,
                                               absl::Span<const int64_t> end,
                                               absl::Span<const int64_t> strides,
                                               const StridedSliceMasks& masks);

  // True if the elements lie together: rows [begin[0], begin[0] + sizes[0]) of the first dimension.
  bool IsRowRange(const Shape& input) const;
  // The same view as an offset and strides in elements of a row-major tensor of shape `input`.
  int64_t Offset(const Shape& input) const;
  Vector ElementStrides(const Shape& input) const;
};

}  // namespace tessera
