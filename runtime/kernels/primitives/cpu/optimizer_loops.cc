#include "runtime/kernels/primitives/cpu/optimizer_loops.h"

// In this order: the first decides the namespace of the second.
// clang-format off
#include "runtime/kernels/primitives/cpu/vector_abi.h"
#include "runtime/kernels/primitives/cpu/optimizer_row_loop.h"
// clang-format on

namespace tessera::TESSERA_VECTOR_ABI {

OptimizerLoop FloatOptimizerLoop(OptimizerRule rule, bool variant) {
  return optimizers::LoopOf<float>(rule, variant);
}

OptimizerLoop DoubleOptimizerLoop(OptimizerRule rule, bool variant) {
  return optimizers::LoopOf<double>(rule, variant);
}

}  // namespace tessera::TESSERA_VECTOR_ABI
