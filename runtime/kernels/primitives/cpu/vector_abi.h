// TESSERA_VECTOR_ABI: the namespace of the instruction set that the including file is compiled for.
// A file that is compiled once for each instruction set defines its functions there, because the
// linker would otherwise take one of them for all. It includes this before any header that has
// another namespace for files without one (elementary_functions.h, optimizer_rules.h).
#pragma once

#ifdef TESSERA_VECTOR_ABI
#error "vector_abi.h comes too late"
#endif

#ifdef __AVX512F__
#define TESSERA_VECTOR_ABI avx512
#else
#define TESSERA_VECTOR_ABI avx2
#endif
