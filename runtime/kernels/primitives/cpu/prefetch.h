// Software prefetch of the next rows or weights.
#pragma once

#include <cstdint>

namespace tessera::gemm {

// Rows to prefetch into the second-level cache while others are multiplied.
struct PrefetchRange {
  const void* at = nullptr;
  int64_t count = 1;
  int64_t size = 0, step = 0;  // bytes of each row, and from each row to the next
};

}  // namespace tessera::gemm
