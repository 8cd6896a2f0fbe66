// Order statistics: the first elements of a row, its n-th element, and the rank of an element.
//
// The order is total. NaN comes after all numbers, whichever way they are sorted; equal elements
// come in order of their index. half and bfloat16 compare as floats. Inputs are real numbers.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct TopK {
  struct Options {
    int axis = 0;
    int64_t k = 0;            // in [0, elements along the axis]
    bool is_greatest = true;  // if true the greatest element comes first, otherwise the least
  };

  // Sets `values`, which has the dtype and the shape of `x` but k elements along the axis, to the
  // first k elements in order, and `indices`, of an integer dtype and this shape, to their
  // positions. The outputs do not share memory with `x`.
  using Function = absl::Status(KernelContext& ctx, const Options& options, const Tensor& x,
                                Tensor* values, Tensor* indices);
};

struct NthElement {
  // Sets `y`, which has the shape of `x` without the last dimension, to element `n` of each row in
  // ascending order. Requires 0 <= n < the number of elements in a row.
  using Function = absl::Status(KernelContext& ctx, int64_t n, const Tensor& x, Tensor* y);
};

struct InTopK {
  // Sets each element of `is_in`, bool and [rows], to whether fewer than k elements of the row of
  // `predictions`, float and [rows, classes], exceed the one that `targets`, int32 or int64 and
  // [rows], names. The result is false for a target that is not a class, and for a row with a
  // prediction that is not finite.
  using Function = absl::Status(KernelContext& ctx, int64_t k, const Tensor& predictions,
                                const Tensor& targets, Tensor* is_in);
};

}  // namespace tessera
