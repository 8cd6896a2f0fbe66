#include "runtime/kernels/primitives/cuda/elementwise.h"
#include "runtime/kernels/primitives/elementwise/unary.h"

namespace tessera::cuda {

REGISTER_CUDA_ELEMENTWISE(functors::kUnaryOps);

}  // namespace tessera::cuda
