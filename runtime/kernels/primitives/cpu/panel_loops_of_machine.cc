#include "runtime/kernels/primitives/cpu/panel_loops.h"

namespace tessera::panel_loops {

const Loops& LoopsOfMachine() {
  static const bool has_avx512 = __builtin_cpu_supports("avx512f");
  return has_avx512 ? avx512::kLoops : avx2::kLoops;
}

}  // namespace tessera::panel_loops
