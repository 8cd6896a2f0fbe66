// Computes 1 / sqrt(x) of many floats in less time than a square root and a division take.
#pragma once

#include <cstdint>

namespace tessera {

// y[i] = 1 / sqrt(x[i]) for i in [0, count), both operations rounded: the bits are those that the
// processor's own instructions give, for every float. `y` may be `x`.
void ReciprocalRoots(const float* x, int64_t count, float* y);

}  // namespace tessera
