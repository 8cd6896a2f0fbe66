#include "runtime/kernels/primitives/cuda/elementwise.h"
#include "runtime/kernels/primitives/elementwise/activation.h"

namespace tessera::cuda {

REGISTER_CUDA_ELEMENTWISE(functors::kActivationOps);
REGISTER_CUDA_ELEMENTWISE(functors::kGeluFunctions);

}  // namespace tessera::cuda
