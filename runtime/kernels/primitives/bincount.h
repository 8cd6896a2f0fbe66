// Counts of small integers.
#pragma once

#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct Bincount {
  // Row r of `values`, which are int32 or int64, holds the elements [row_splits[r], row_splits[r +
  // 1]); the splits lie in host memory, begin with 0, do not fall and end with the number of
  // elements. Row r of `bins`, real numbers and [rows, size] or, for one row, [size], gets for each
  // v in [0, size) the number of elements in the row that equal v, or the sum of their weights,
  // added in order. Elements of `size` or more are not counted. `weights` is empty, or has one
  // element of the dtype of `bins` for each value. With `binary` a bin is 1 if its v occurs, and 0
  // otherwise. Bins of rows that have no splits are 0.
  // Errors: INVALID_ARGUMENT for a negative value. A device that cannot see the values before it
  // returns does not count them.
  using Function = absl::Status(KernelContext& ctx, absl::Span<const int64_t> row_splits,
                                const Tensor& values, const Tensor& weights, bool binary,
                                Tensor* bins);
};

}  // namespace tessera
