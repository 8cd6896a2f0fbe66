// Computes 1 / x of many floats in less time than divisions take.
#pragma once

#include <cstdint>

namespace tessera {

// y[i] = 1 / x[i] for i in [0, count), with the bits that a division gives, for every float. `y`
// may be `x`.
void Reciprocals(const float* x, int64_t count, float* y);

}  // namespace tessera
