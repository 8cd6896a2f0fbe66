// Checking indices before any element moves.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Errors: INVALID_ARGUMENT naming the first element of `indices` that is not in [0, limit).
absl::Status CheckIndices(const Tensor& indices, int64_t limit);

// Element `i` of a row-major array whose dimensions are the first `rank` of `shape`: "[2,0]".
std::string PositionText(const Shape& shape, int rank, int64_t i);

}  // namespace tessera
