// Loops of optimizers for half and bfloat16.
#pragma once

#include "runtime/kernels/primitives/cpu/optimizer_loops.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// Returns the loop of a rule for a narrow float `dtype`. The loop takes floats that hold numbers of
// this type, and rounds each step to it, as TensorFlow does.
OptimizerLoop NarrowOptimizerLoop(DType dtype, OptimizerRule rule, bool variant);

}  // namespace tessera
