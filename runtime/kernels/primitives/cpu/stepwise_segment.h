// Reductions of the rows of segments of half and bfloat16 that round after each operation, as
// TensorFlow's CPU kernels do.
#pragma once

#include "absl/types/optional.h"
#include "runtime/kernels/primitives/cpu/reduction_loop.h"
#include "runtime/kernels/primitives/segment_reduce.h"

namespace tessera {

// Returns loops whose accumulators are elements of `dtype`: `init`, `rows`, which gets all rows of
// a segment at once if the order is kSorted, and `finish`. The others are null. Returns nothing for
// dtypes and kinds that do not need them.
absl::optional<ReductionLoops> FindStepwiseSegmentLoops(ReduceKind kind, DType dtype,
                                                        SegmentOrder order);

}  // namespace tessera
