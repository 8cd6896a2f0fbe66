#include "runtime/kernels/primitives/cpu/micro_kernel.h"

namespace tessera::gemm {

// Here, and not in the header, whose users are compiled for instruction sets of their own.
void MicroKernel::MultiplyPanels(const Product& product, int64_t first, int64_t count,
                                 int64_t panel, int64_t end, const int64_t* row_offsets,
                                 const Epilogue& epilogue, float* out) const {
  for (; panel < end; ++panel) {
    MultiplyBlock(product, first, count, panel, row_offsets, epilogue, out);
  }
}

}  // namespace tessera::gemm
