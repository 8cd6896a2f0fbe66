#include "runtime/kernels/primitives/cuda/elementwise.h"
#include "runtime/kernels/primitives/elementwise/transcendental.h"

namespace tessera::cuda {

REGISTER_CUDA_ELEMENTWISE(functors::kTranscendentalOps);

}  // namespace tessera::cuda
