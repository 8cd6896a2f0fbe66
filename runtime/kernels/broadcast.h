// Broadcasting of shapes, by NumPy's rules.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// The shape that both broadcast to: shapes are aligned at their last dimensions, and a dimension of
// 1 repeats. Errors: INVALID_ARGUMENT naming both shapes if two dimensions clash.
absl::StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b);

// Returns the row-major position in a tensor of shape `from` that element `position` of what it
// broadcasts to comes from. Requires that `from` broadcasts to `to`.
int64_t BroadcastSource(int64_t position, const Shape& from, const Shape& to);

}  // namespace tessera
