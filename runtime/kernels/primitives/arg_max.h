// Primitive: the index of the greatest or the least element along an axis.
#pragma once

#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/reduce.h"

namespace tessera {

struct ArgMax {
  // Sets `y`, which has the shape of `x` without `axis`, to the index along the axis of the
  // greatest element for ReduceKind::kMax, or the least for kMin: the first one of equal elements.
  // Neither a NaN nor the infinity that is the worst value is ever chosen; the index is 0 where
  // there is nothing else. `x` holds real numbers or bool, and at least one element along the axis;
  // `y` is int16, uint16, int32 or int64.
  using Function = absl::Status(KernelContext& ctx, ReduceKind kind, const Tensor& x, int axis,
                                Tensor* y);
};

}  // namespace tessera
