// A micro-kernel for AVX-512 of products whose left-hand side is stored transposed, as that of the
// gradient of weights is. The rows of a term lie side by side, so that the left-hand side is read
// in place. The sums stay in registers as those of fma_micro_kernel.h do.
#pragma once

#include "runtime/kernels/primitives/cpu/micro_kernel.h"
#include "runtime/kernels/primitives/cpu/prefetch.h"

namespace tessera::gemm {

// The largest number of terms that are summed in registers. A longer run would lose accuracy.
inline constexpr int64_t kTransposedDepth = 256;

// A block of an output, and what it is computed from.
struct TransposedBlock {
  int64_t rows = 0, columns = 0;  // at most kFmaRows and kBlock
  int64_t depth = 0;              // at most kTransposedDepth
  const float* a = nullptr;       // the rows of a term, and `a_step` floats on those of the next
  int64_t a_step = 0;
  // The columns of a term, and `b_step` floats on those of the next. They are copied to `panel`
  // meanwhile, kBlock floats a term. Null: they are in `panel` already.
  const float* b = nullptr;
  int64_t b_step = 0;
  float* panel = nullptr;
  float* out = nullptr;
  int64_t out_step = 0;   // floats from row to row
  bool add = false;       // to what is at `out`
  PrefetchRange next[2];  // to prefetch meanwhile
};

// Requires AVX-512.
void MultiplyTransposed(const TransposedBlock& block);

}  // namespace tessera::gemm
