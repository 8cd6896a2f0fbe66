#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/winograd_transform.h"

namespace tessera::winograd {

const Transforms& TransformsForCpu(int output_tile) {
  if (SpeedsForCpu().has_avx512) {
    return output_tile == 2 ? avx512::kTransformsOf2 : avx512::kTransformsOf4;
  }
  return output_tile == 2 ? avx2::kTransformsOf2 : avx2::kTransformsOf4;
}

}  // namespace tessera::winograd
