// Reductions of half and bfloat16 that round after each operation, as TensorFlow's CPU kernels do.
#pragma once

#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/reduction_loop.h"
#include "runtime/kernels/primitives/reduce.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// Reduces the elements at `in` to those at `out`. `pool` may be null.
using StepwiseReduction = void (*)(const ReductionPlan& plan, const char* in, char* out,
                                   ThreadPool* pool);

// Returns null for what TensorFlow computes otherwise: reductions of wider dtypes, extremes, and
// those that accumulate in float and round the result.
StepwiseReduction FindStepwiseReduction(ReduceKind kind, DType dtype);

}  // namespace tessera
