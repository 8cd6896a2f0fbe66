// The primitive that finds elements which are equal to each other.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct FindUnique {
  struct Distinct {
    Tensor firsts;  // int64: the first position of each distinct row, in ascending order
    Tensor counts;  // dtype of `which`: how often each occurs; if requested
  };
  // `rows` is [count, size]. Rows are equal if their elements are equal numbers or texts: 0 equals
  // -0, and NaN equals nothing. Sets which[i], int32 or int64, to the number of the distinct row
  // that row i is; they are numbered in the order of their first positions. A device with a stream
  // is waited for, since the number of distinct rows depends on the elements.
  // Errors: UNIMPLEMENTED for dtypes that have no order, and on a GPU for rows of several elements.
  using Function = absl::StatusOr<Distinct>(KernelContext& ctx, const Tensor& rows,
                                            bool with_counts, Tensor* which);
};

}  // namespace tessera
