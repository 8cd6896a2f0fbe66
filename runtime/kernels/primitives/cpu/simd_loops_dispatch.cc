#include "runtime/kernels/primitives/cpu/simd_loops.h"

namespace tessera::simd {

const Loops& LoopsForCpu() {
  static const bool has_avx512 = __builtin_cpu_supports("avx512f");
  return has_avx512 ? avx512::kLoops : avx2::kLoops;
}

}  // namespace tessera::simd
