// Checks of indices, which are made before any element is moved.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Checks that all indices are in [0, limit). Errors: INVALID_ARGUMENT, which names the first
// element that is not.
absl::Status CheckIndices(const Tensor& indices, int64_t limit);

// Returns the coordinates, such as "[2,0]", of element `i` of a row-major array whose dimensions
// are the first `rank` of `shape`.
std::string PositionText(const Shape& shape, int rank, int64_t i);

}  // namespace tessera
