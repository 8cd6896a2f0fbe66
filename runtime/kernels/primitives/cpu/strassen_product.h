// Matrix products by strassen.h with weights that are packed in panels of float.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/ending.h"

namespace tessera {

// Rows from which on sums of weights are worth making.
inline constexpr int64_t kLeastStrassenRows = 256;

// True if products of m rows of k, at least kLeastStrassenRows, with k x n weights are faster so
// than by MultiplyPanels(), and can be made. On AVX-512.
bool StrassenPays(int64_t m, int64_t n, int64_t k);

// out = a * weights, ended as `ending` says, for shapes that StrassenPays() is true for, on this
// thread alone. `panels` are the weights as FloatPanels() packs them. Errors: RESOURCE_EXHAUSTED
// for scratch memory, which is some 7 MiB.
absl::Status MultiplyByStrassen(KernelContext& ctx, int64_t m, int64_t n, int64_t k, const float* a,
                                const float* panels, const Ending& ending, float* out);

}  // namespace tessera
