// A micro-kernel for float on AMX, which multiplies only bfloat16: each float is split into three
// bfloat16s.
//
// A float x is split into high = round(x), middle = round(x - high) and low = round(x - high -
// middle), each of 8 bits; their sum is x. Of the nine products of parts that make up x * y, the
// six largest are computed exactly and summed in float. The omitted ones are within 2^-24 of |x *
// y|, so that a sum is as accurate as one of float products. Source: Henry, Tang, Heinecke,
// "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations",
// 2019.
#pragma once

#include "runtime/kernels/primitives/cpu/micro_kernel.h"

namespace tessera::gemm {

// Returns the micro-kernel. It rejects infinities, NaNs, and magnitudes of 2^62 or more, which
// cannot be split. Denormal parts are flushed to zero. Packed weights take one and a half times the
// memory of plain ones.
//
// Requires AMX, AVX-512 with its bfloat16 instructions, and the system's permission to use tiles:
// see AmxIsSupported() in blocked_gemm.h.
const MicroKernel& AmxMicroKernel();

// Returns this micro-kernel with the AMX instructions emulated in C++, for tests on any processor
// with AVX-512.
const MicroKernel& EmulatedAmxMicroKernel();

}  // namespace tessera::gemm
