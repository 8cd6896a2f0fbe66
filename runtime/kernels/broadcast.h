// Broadcasting of shapes, by NumPy's rules.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// The shape that both broadcast to: shapes are aligned at their last dimensions, and a dimension of
// 1 repeats. Errors: INVALID_ARGUMENT naming both shapes if two dimensions clash.
absl::StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b);

}  // namespace tessera
