#include "runtime/kernels/primitives/cuda/elementwise.h"
#include "runtime/kernels/primitives/elementwise/comparison.h"

namespace tessera::cuda {

REGISTER_CUDA_ELEMENTWISE(functors::kComparisonOps);

}  // namespace tessera::cuda
