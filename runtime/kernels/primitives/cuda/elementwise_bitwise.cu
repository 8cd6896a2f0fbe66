#include "runtime/kernels/primitives/cuda/elementwise.h"
#include "runtime/kernels/primitives/elementwise/bitwise.h"

namespace tessera::cuda {

REGISTER_CUDA_ELEMENTWISE(functors::kBitwiseOps);

}  // namespace tessera::cuda
