// The typed inner loops of every reduction.
#pragma once

#include "runtime/kernels/primitives/cpu/reduction_loop.h"
#include "runtime/kernels/primitives/reduce.h"

namespace tessera {

// Returns the loops of `kind` for elements of `dtype`. Requires a combination that Reduce supports.
ReductionLoops FindReductionLoops(ReduceKind kind, DType dtype);

}  // namespace tessera
