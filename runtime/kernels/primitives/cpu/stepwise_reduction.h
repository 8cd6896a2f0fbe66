// Reductions of half and bfloat16 that round after each operation, as TensorFlow's CPU kernels do.
#pragma once

#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/reduction_loop.h"
#include "runtime/kernels/primitives/reduce.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// Reduces the elements at `in` and stores the results at `out`. `pool` may be null.
using StepwiseReduction = void (*)(const ReductionPlan& plan, const char* in, char* out,
                                   ThreadPool* pool);

// Returns the reduction for a kind and a dtype, or null if TensorFlow does not round each step: for
// wider dtypes, for extremes, and where it accumulates in float and rounds the result.
StepwiseReduction FindStepwiseReduction(ReduceKind kind, DType dtype);

}  // namespace tessera
