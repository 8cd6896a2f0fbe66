// The primitive that finds the nonzero elements of a tensor.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Returns the coordinates, [n, rank] of int64, of the elements that are not zero or false, in
// row-major order. A NaN is not zero. The input has numbers or bools and at least one dimension. A
// device with a stream is waited for, since the shape depends on the elements.
// Errors: UNIMPLEMENTED for other dtypes.
struct NonZero {
  using Function = absl::StatusOr<Tensor>(KernelContext& ctx, const Tensor& input);
};

}  // namespace tessera
