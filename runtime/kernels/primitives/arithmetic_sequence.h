// Numbers that follow each other at one distance.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct ArithmeticSequence {
  // Sets element i of `y`, a vector of real numbers, to start + i * step. `start` and `step` are
  // scalars of its dtype in host memory. The CPU rounds i, the product and the sum to the dtype, so
  // that elements have TensorFlow's bits. Accelerators round less often, and compute half and
  // bfloat16 in float.
  using Function = absl::Status(KernelContext& ctx, const Tensor& start, const Tensor& step,
                                Tensor* y);
};

}  // namespace tessera
