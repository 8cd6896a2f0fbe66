// Slices of tensors: boxes, as partitioned variables and RestoreV2's shape_and_slices name them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A box of a tensor: a start and a length for each dimension. A length of -1, with a start of 0, is
// the whole dimension, whatever its size.
struct TensorSlice {
  std::vector<int64_t> start;
  std::vector<int64_t> length;

  // Parses a text such as "0,10:-", which names ten rows from row 0 of a matrix and all its
  // columns. The empty text names a scalar. Errors: INVALID_ARGUMENT.
  static absl::StatusOr<TensorSlice> Parse(absl::string_view text);
  static TensorSlice Whole(int rank) {
    return {std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, -1)};
  }

  int rank() const { return static_cast<int>(start.size()); }
  std::string ToString() const;

  // Returns the same box of a tensor of this shape, with every length a number. Errors:
  // INVALID_ARGUMENT if the box does not fit `shape`.
  absl::StatusOr<TensorSlice> Within(const Shape& shape) const;
  // Returns the shape of the box. Requires lengths that are numbers.
  Shape shape() const { return Shape(length); }

  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;
};

// One element of shape_and_slices. Its text is empty for a tensor that is not partitioned, else the
// shape of the whole tensor followed by the slice, such as "4 3 0,2:-".
struct ShapeAndSlice {
  Shape shape;        // of the whole tensor
  TensorSlice slice;  // fits `shape`; lengths are numbers
  // Errors: INVALID_ARGUMENT, also for the empty text.
  static absl::StatusOr<ShapeAndSlice> Parse(absl::string_view text);
};

// Sets *common to the intersection of two boxes whose lengths are numbers. Returns false if it is
// empty.
bool Intersect(const TensorSlice& a, const TensorSlice& b, TensorSlice* common);

// Returns true if two of the boxes intersect. Their lengths are numbers and their ranks are equal.
bool AnyOverlap(std::vector<TensorSlice> boxes);

// Copies the elements in `box` of a partitioned tensor from `from`, which holds its slice
// `from_box`, to `to`, which holds its slice `to_box`. Requires that the dtypes are equal, that
// lengths are numbers, and that `box` lies inside both slices.
void CopyBox(const TensorSlice& box, const Tensor& from, const TensorSlice& from_box, Tensor& to,
             const TensorSlice& to_box);

// Returns the key under which the index of a checkpoint has a slice of the tensor `name`.
std::string SliceKey(absl::string_view name, const TensorSlice& slice);

}  // namespace tessera
