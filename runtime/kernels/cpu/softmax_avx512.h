// One row of a softmax of floats on AVX-512.
#pragma once

#include <cstdint>

namespace tessera {

// out = exp(x) / sum(exp(x)), as SoftmaxRow(): a NaN makes all NaN, and so do infinities that leave
// no number. `out` may be `x`. To be called only where the processor has AVX-512.
void SoftmaxRowAvx512(const float* x, int64_t count, float* out);

}  // namespace tessera
