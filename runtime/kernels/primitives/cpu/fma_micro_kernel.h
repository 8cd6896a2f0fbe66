// A micro-kernel for packed float panels that uses the fused multiply-add of AVX-512.
//
// The sums of up to 14 rows and the 32 columns of a panel stay in registers, two for each row. The
// weights are read in the order of their addresses, and those of the next panel are prefetched, so
// that a GEMM with few rows does not wait for memory.
#pragma once

#include "runtime/kernels/primitives/cpu/micro_kernel.h"

namespace tessera::gemm {

// Returns the micro-kernel. It rejects weights that are infinite or NaN, because zeros that pad an
// image would turn into NaN when multiplied by them. Requires AVX-512.
const MicroKernel& FmaMicroKernel();

}  // namespace tessera::gemm
