#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera::gemm {

const MicroKernel& FmaMicroKernel() {
  return SpeedsForCpu().has_avx512 ? avx512::FmaMicroKernel() : avx2::FmaMicroKernel();
}

}  // namespace tessera::gemm
