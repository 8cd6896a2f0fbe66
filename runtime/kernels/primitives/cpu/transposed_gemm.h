// A matrix product whose left-hand side is stored transposed, such as the gradient of weights. It
// has few outputs, each of which is a sum over all rows of a batch.
#pragma once

#include <cstdint>

#include "runtime/framework/kernel.h"

namespace tessera {

// Computes output = a^T * b, for `a` of k x m and `b` of k x n, row-major and without gaps. If
// `add`, the product is added to the values of `output`. The order of the sums does not depend on
// the threads, which are those of the step.
void TransposedGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, bool add, float* output);

}  // namespace tessera
