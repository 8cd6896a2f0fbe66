#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/transposed_micro_kernel.h"

namespace tessera::gemm {

const TransposedMicroKernel& TransposedMicroKernelForCpu() {
  return SpeedsForCpu().has_avx512 ? avx512::kTransposedMicroKernel : avx2::kTransposedMicroKernel;
}

}  // namespace tessera::gemm
