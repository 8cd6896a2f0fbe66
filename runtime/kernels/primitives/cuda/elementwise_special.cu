#include "runtime/kernels/primitives/cuda/elementwise.h"
#include "runtime/kernels/primitives/elementwise/special.h"

namespace tessera::cuda {

REGISTER_CUDA_ELEMENTWISE(functors::kSpecialOps);

}  // namespace tessera::cuda
