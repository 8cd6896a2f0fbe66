// Rows of a layer normalisation.
#pragma once

#include <cstdint>

namespace tessera {

// Rows of `columns` floats, one after the other.
struct LayerNormRows {
  int64_t rows = 0, columns = 0;
  const float* x = nullptr;
  const float* addend = nullptr;  // has the shape of x; null: nothing is added
  const float* gamma = nullptr;   // columns
  const float* beta = nullptr;
  float epsilon = 0;
  float* y = nullptr;  // may be equal to x
};

// y = (z - mean) / sqrt(variance + epsilon) * gamma + beta, each row of z = x + addend by itself.
// Compiled for AVX-512 (F, BW, DQ and VL), and for what every processor here has.
namespace avx512 {
void Normalise(const LayerNormRows& rows);
}
namespace avx2 {
void Normalise(const LayerNormRows& rows);
}

}  // namespace tessera
