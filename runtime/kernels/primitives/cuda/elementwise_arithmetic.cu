#include "runtime/kernels/primitives/cuda/elementwise.h"
#include "runtime/kernels/primitives/elementwise/arithmetic.h"

namespace tessera::cuda {

REGISTER_CUDA_ELEMENTWISE(functors::kArithmeticOps);

}  // namespace tessera::cuda
