// The engine under all kernels that rearrange elements: one copy between two strided views.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/strides.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// Copies to[sum i_k * to_strides[k]] = from[sum i_k * from_strides[k]] for all 0 <= i_k < dims[k].
// Strides count elements; a stride of 0 in `from` repeats (broadcast, tile), a negative one
// reverses. `from` and `to` point at the element whose indices are all 0. The views must not
// overlap, and `to` must not visit an element twice.
//
//   // Transposes a [rows, cols] matrix.
//   CopyStrided(dtype, {cols, rows}, in, {1, cols}, out, {rows, 1}, pool);
//
// Adjacent dimensions that are contiguous in both views are merged first, runs of bytes go through
// memcpy, and a transpose is done in cache-sized blocks. Large copies are split over `pool` (may be
// null).
void CopyStrided(DType dtype, absl::Span<const int64_t> dims, const char* from,
                 absl::Span<const int64_t> from_strides, char* to,
                 absl::Span<const int64_t> to_strides, ThreadPool* pool);

}  // namespace tessera
