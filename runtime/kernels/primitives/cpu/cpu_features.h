// CPU features detected at run time.
#pragma once

// Compiles one function, and what it inlines, for AVX-512 in a file that is compiled for all
// processors. The function may be called only if HasAvx512().
#ifdef __clang__
#define TESSERA_AVX512 [[gnu::flatten, gnu::target("avx512f,avx512vl,avx512bw,avx512dq")]]
#else
#define TESSERA_AVX512 \
  [[gnu::flatten, gnu::target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512")]]
#endif

namespace tessera {

// True if the processor has the AVX-512 extensions that AVX512_LOOP_COPTS compiles for.
inline bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace tessera
