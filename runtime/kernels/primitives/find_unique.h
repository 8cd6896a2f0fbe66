// Primitive: which elements are equal to each other.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct FindUnique {
  struct Distinct {
    Tensor firsts;  // int64: where each distinct row first stands, in ascending order
    Tensor counts;  // of the dtype of `which`: how often it stands there; if asked for
  };
  // `rows` is [count, size]. Rows are equal if their elements are equal numbers or texts: 0 equals
  // -0, and NaN nothing. Sets which[i], int32 or int64, to the number of the distinct row that row
  // i is; they are numbered in the order in which they first stand there. A device with a stream is
  // waited for, since the number of distinct rows depends on the elements.
  // Errors: UNIMPLEMENTED for dtypes that have no order, and on a GPU for rows of several elements.
  using Function = absl::StatusOr<Distinct>(KernelContext& ctx, const Tensor& rows,
                                            bool with_counts, Tensor* which);
};

}  // namespace tessera
