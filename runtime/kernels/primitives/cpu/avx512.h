// Which loops a processor can run.
#pragma once

namespace tessera {

// Whether it has the part of AVX-512 that AVX512_LOOP_COPTS compile for.
inline bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace tessera
