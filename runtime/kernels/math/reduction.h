// The loops of the registered reductions, for kernels that reduce in ways of their own (segments).
#pragma once

#include "absl/strings/string_view.h"
#include "runtime/kernels/primitives/cpu/reduction_loop.h"

namespace tessera {

// Of "Sum", "Mean", "Prod", "Max", "Min" or "EuclideanNorm", and "All" or "Any" of bool. Those of
// float for half and bfloat16. Requires that the reduction takes the dtype.
ReductionLoops FindReductionLoops(absl::string_view op, DType dtype);

}  // namespace tessera
