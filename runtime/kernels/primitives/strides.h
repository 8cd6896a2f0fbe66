// Strides of row-major arrays.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace tessera {

// Returns the strides, in elements, of a row-major array with these dimensions. Only an array
// without elements can have strides that overflow; nothing is at them, and they are 0.
inline absl::InlinedVector<int64_t, 8> RowMajorStrides(absl::Span<const int64_t> dims) {
  absl::InlinedVector<int64_t, 8> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, dims[i], &stride)) stride = 0;
  }
  return strides;
}

}  // namespace tessera
