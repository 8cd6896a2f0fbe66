// Numbers that follow each other at one distance.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct ArithmeticSequence {
  // Sets element i of `y`, a vector of real numbers, to start + i * step. `start` and `step` are
  // scalars of its dtype in host memory. half and bfloat16 are computed in float.
  using Function = absl::Status(KernelContext& ctx, const Tensor& start, const Tensor& step,
                                Tensor* y);
};

}  // namespace tessera
