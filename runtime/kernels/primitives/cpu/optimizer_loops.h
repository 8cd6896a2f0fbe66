// Loops of optimizers over rows of a variable and its slots.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/optimizer_update.h"

namespace tessera {

// Rows of a variable, its slots and the gradient, of one dtype.
struct OptimizerRows {
  int64_t rows = 1;
  int64_t row_size = 0;            // elements
  const int64_t* index = nullptr;  // the row of the variable for each row of the gradient; null: i
  const void* gradient = nullptr;
  void* state[1 + kMaxOptimizerSlots] = {};  // the variable and its slots
};

using OptimizerLoop = void (*)(const OptimizerStep& step, const OptimizerRows& rows);

// Returns the loop of a rule for float or double. Compiled for AVX-512 (F, BW, DQ and VL) and for
// AVX2.
namespace avx512 {
OptimizerLoop FloatOptimizerLoop(OptimizerRule rule, bool variant);
OptimizerLoop DoubleOptimizerLoop(OptimizerRule rule, bool variant);
}  // namespace avx512
namespace avx2 {
OptimizerLoop FloatOptimizerLoop(OptimizerRule rule, bool variant);
OptimizerLoop DoubleOptimizerLoop(OptimizerRule rule, bool variant);
}  // namespace avx2

}  // namespace tessera
