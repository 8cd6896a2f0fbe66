#include "runtime/kernels/primitives/cpu/optimizer_loops.h"

// The namespace for the instruction set that this file is compiled for.
#ifdef __AVX512F__
#define TESSERA_VECTOR_ABI avx512
#else
#define TESSERA_VECTOR_ABI avx2
#endif
#include "runtime/kernels/primitives/cpu/optimizer_row_loop.h"

namespace tessera::TESSERA_VECTOR_ABI {

OptimizerLoop FloatOptimizerLoop(OptimizerRule rule, bool variant) {
  return optimizers::LoopOf<float>(rule, variant);
}

OptimizerLoop DoubleOptimizerLoop(OptimizerRule rule, bool variant) {
  return optimizers::LoopOf<double>(rule, variant);
}

}  // namespace tessera::TESSERA_VECTOR_ABI
