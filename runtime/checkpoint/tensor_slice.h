// Boxes of tensors, as partitioned variables and RestoreV2's shape_and_slices name them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Per dimension a start and a length; length -1 (with start 0) is the whole dimension, whatever its
// size. A value type.
struct TensorSlice {
  std::vector<int64_t> start;
  std::vector<int64_t> length;

  // From "0,10:-": ten rows from row 0 of a matrix, all columns. "" is a scalar.
  // Errors: INVALID_ARGUMENT.
  static absl::StatusOr<TensorSlice> Parse(absl::string_view text);
  static TensorSlice Whole(int rank) {
    return {std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, -1)};
  }

  int rank() const { return static_cast<int>(start.size()); }
  std::string ToString() const;

  // With every length a number. Errors: INVALID_ARGUMENT if the box does not fit `shape`.
  absl::StatusOr<TensorSlice> Within(const Shape& shape) const;
  // The box's own shape. Requires lengths that are numbers.
  Shape shape() const { return Shape(length); }

  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;
};

// The text of one element of shape_and_slices: "" for a tensor that is not partitioned, else
// "4 3 0,2:-", the whole tensor's shape and the part in question.
struct ShapeAndSlice {
  Shape shape;        // of the whole tensor
  TensorSlice slice;  // fits `shape`; lengths are numbers
  // Errors: INVALID_ARGUMENT, also for "".
  static absl::StatusOr<ShapeAndSlice> Parse(absl::string_view text);
};

// What two boxes with numbers for lengths have in common; false if nothing.
bool Intersect(const TensorSlice& a, const TensorSlice& b, TensorSlice* common);

// True if two of the boxes, of one rank and with numbers for lengths, have an element in common.
bool AnyOverlap(std::vector<TensorSlice> boxes);

// Copies the box `box` of a whole tensor from `from`, which holds the box `from_box` of it, to
// `to`, which holds `to_box`. Requires one dtype, boxes with numbers for lengths, and `box` inside
// both.
void CopyBox(const TensorSlice& box, const Tensor& from, const TensorSlice& from_box, Tensor& to,
             const TensorSlice& to_box);

// The key under which a checkpoint's index holds a slice of tensor `name`.
std::string SliceKey(absl::string_view name, const TensorSlice& slice);

}  // namespace tessera
