// The primitive that chooses between two tensors.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/strided_operands.h"

namespace tessera {

// Computes z = condition ? x : y for each element. The operands are z, condition, x and y. z, x and
// y have elements of `dtype`, which may be any dtype; the condition is bool.
struct Choose {
  using Function = absl::Status(KernelContext& ctx, DType dtype, StridedOperands& operands);
};

}  // namespace tessera
