// Computes 1 / sqrt(x) of many floats in less time than a square root and a division take.
#pragma once

#include <cstdint>

namespace tessera {

// y[i] = 1 / sqrt(x[i]) for i in [0, count). Normal numbers below 2^126 have results within 0.53
// units in the last place of the exact value; the others are those of a root and a division, which
// may be 1.5 units off. A result depends neither on the other elements nor on its position. `y` may
// be `x`.
void ReciprocalRoots(const float* x, int64_t count, float* y);

}  // namespace tessera
