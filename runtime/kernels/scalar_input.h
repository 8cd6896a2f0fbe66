// Reading integers that TensorFlow takes as scalars alone.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Returns the integer of a scalar, where ReadIndexScalar() takes any tensor of one element.
// Errors: INVALID_ARGUMENT naming `name` for another rank or dtype.
absl::StatusOr<int64_t> ReadIntegerOfScalar(const Tensor& tensor, absl::string_view name);

}  // namespace tessera
