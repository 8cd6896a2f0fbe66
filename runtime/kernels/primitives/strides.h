// Strides of arrays that lie row by row.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace tessera {

// The strides of a row-major array of these dimensions, in elements.
inline absl::InlinedVector<int64_t, 8> RowMajorStrides(absl::Span<const int64_t> dims) {
  absl::InlinedVector<int64_t, 8> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

}  // namespace tessera
