// Copies a box of elements from one tensor to another. Concatenating, splitting, slicing, padding,
// tiling, transposing and reversing are such copies.
//
//   // Transposes a [rows, columns] matrix.
//   copy(ctx, {columns, rows}, input, {{1, columns}}, output, {{rows, 1}});
//   // Sets a vector to a scalar.
//   copy(ctx, {n}, scalar, {{0}}, output, {{1}});
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/strides.h"

namespace tessera {

// The layout of a box in a tensor: the element with indices i has position offset + sum i_k *
// strides[k].
struct StridedView {
  absl::Span<const int64_t> strides;  // one for each dimension of the box
  int64_t offset = 0;
};

struct StridedCopy {
  // Copies the elements with indices 0 <= i_k < dims[k]. A stride of 0 in `from_view` repeats
  // elements and a negative one reverses them. No element of `to` may be visited twice. `from` and
  // `to` have one dtype, of any size; they may be the same tensor if the two views share no
  // element. A box without elements is not copied, and its tensors need no memory.
  using Function = absl::Status(KernelContext& ctx, absl::Span<const int64_t> dims,
                                const Tensor& from, StridedView from_view, Tensor* to,
                                StridedView to_view);
};

}  // namespace tessera
