// What is needed next of rows or of weights.
#pragma once

#include <cstdint>

namespace tessera::panel {

// Rows to bring into the second-level cache while others are multiplied.
struct NextRows {
  const void* at = nullptr;
  int64_t count = 1;
  int64_t size = 0, step = 0;  // bytes of each, and from each to the next
};

}  // namespace tessera::panel
