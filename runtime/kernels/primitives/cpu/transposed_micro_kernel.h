// A micro-kernel for AVX-512 or AVX2 that multiplies a left-hand side which is stored transposed,
// as for the gradient of weights. The elements of all rows for one term lie side by side, so that
// the left-hand side is read in place. The sums stay in registers, as in fma_micro_kernel.h.
#pragma once

#include "runtime/kernels/primitives/cpu/micro_kernel.h"
#include "runtime/kernels/primitives/cpu/prefetch.h"

namespace tessera::gemm {

// The largest number of terms that are summed in registers. A longer run would lose accuracy.
inline constexpr int64_t kTransposedDepth = 256;

// A block of the output and its operands.
struct TransposedBlock {
  int64_t rows = 0, columns = 0;  // at most max_rows and kBlock
  int64_t depth = 0;              // at most kTransposedDepth
  const float* a = nullptr;       // the rows of one term; the next term is `a_step` floats on
  int64_t a_step = 0;
  // The columns of one term; the next term is `b_step` floats on. They are copied to `panel`, which
  // has kBlock floats for each term, while they are multiplied. Null if `panel` holds them already.
  const float* b = nullptr;
  int64_t b_step = 0;
  float* panel = nullptr;
  float* out = nullptr;
  int64_t out_step = 0;   // floats from row to row
  bool add = false;       // to the values at `out`
  PrefetchRange next[2];  // prefetched during the multiplication
};

// The micro-kernel for one instruction set.
struct TransposedMicroKernel {
  int64_t max_rows;
  void (*multiply)(const TransposedBlock& block);
};

// Returns the micro-kernel for the processor, by the entry of machine_speeds.h.
const TransposedMicroKernel& TransposedMicroKernelForCpu();

// The micro-kernels for the instruction sets, which the processor must have.
namespace avx512 {
extern const TransposedMicroKernel kTransposedMicroKernel;
}
namespace avx2 {
extern const TransposedMicroKernel kTransposedMicroKernel;
}

}  // namespace tessera::gemm
