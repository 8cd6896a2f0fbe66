// Values by rows, where empty rows get a default value.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct FillEmptyRows {
  struct Filled {
    Tensor indices;  // int64 [total, rank]
    Tensor values;   // [total]
  };
  // Value i of `values` [n] stands in row indices[i][0] of int64 `indices` [n, rank]; there are
  // `rows` of them. Gives every row without a value one: the scalar `default_value`, at index
  // [row, 0, ...]. Rows come in order, and the values of a row in the order in which they are
  // given. Sets is_empty[row], bool and [rows], to whether the row had no value, and positions[i],
  // int64 and [n], to where value i is now. Requires rank >= 1. A device with a stream is waited
  // for, since the number of empty rows depends on the indices. Errors: INVALID_ARGUMENT for a row
  // that is not in [0, rows).
  using Function = absl::StatusOr<Filled>(KernelContext& ctx, const Tensor& indices,
                                          const Tensor& values, const Tensor& default_value,
                                          Tensor* is_empty, Tensor* positions);
};

}  // namespace tessera
