#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/strassen.h"

namespace tessera::strassen {

const BlockStep& BlockStepForCpu() {
  return SpeedsForCpu().has_avx512 ? avx512::kBlockStep : avx2::kBlockStep;
}

}  // namespace tessera::strassen
