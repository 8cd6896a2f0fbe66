// The typed inner loops of every reduction.
#pragma once

#include "runtime/kernels/primitives/cpu/reduction_loop.h"
#include "runtime/kernels/primitives/reduce.h"

namespace tessera {

// The loops of `kind` for elements of `dtype`. Requires a pair that Reduce has.
ReductionLoops FindReductionLoops(ReduceKind kind, DType dtype);

}  // namespace tessera
