// Loops of optimizers for half and bfloat16.
#pragma once

#include "runtime/kernels/primitives/cpu/optimizer_loops.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// Returns the loop of a rule over floats that hold numbers of `dtype`, a narrow float. Each step is
// rounded to that type, as in TensorFlow.
OptimizerLoop NarrowOptimizerLoop(DType dtype, OptimizerRule rule, bool variant);

}  // namespace tessera
