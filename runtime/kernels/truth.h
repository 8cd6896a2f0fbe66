// The truth of a tensor as the condition of If and While.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A scalar is true if it is not zero, or a string that is not empty. Anything else is true if it
// has elements. Errors: INVALID_ARGUMENT for a scalar of a type that is neither.
absl::StatusOr<bool> IsTrue(const Tensor& tensor);

}  // namespace tessera
