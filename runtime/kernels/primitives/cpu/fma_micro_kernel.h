// Micro-kernels for packed float panels that use fused multiply-add, on AVX-512 or on AVX2.
//
// The sums of some rows and some columns of a panel stay in registers: of 14 rows and all 32
// columns on AVX-512, and of 6 rows and 16 columns on AVX2, which takes the two halves of a panel
// one after the other. Both read the same panels: term by term, 32 columns side by side. The
// weights are read in the order of their addresses, and those of the next panel are prefetched, so
// that a GEMM with few rows does not wait for memory.
#pragma once

#include "runtime/kernels/primitives/cpu/micro_kernel.h"

namespace tessera::gemm {

// Returns the micro-kernel for the processor, by the entry of machine_speeds.h. It rejects weights
// that are infinite or NaN, because zeros that pad an image would turn into NaN when multiplied by
// them.
const MicroKernel& FmaMicroKernel();

// The micro-kernels for the instruction sets, which the processor must have.
namespace avx512 {
const MicroKernel& FmaMicroKernel();
}
namespace avx2 {
const MicroKernel& FmaMicroKernel();
}

}  // namespace tessera::gemm
