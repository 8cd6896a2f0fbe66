// CPU features detected at run time.
#pragma once

namespace tessera {

// True if the processor has the AVX-512 extensions that AVX512_LOOP_COPTS compiles for.
inline bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace tessera
