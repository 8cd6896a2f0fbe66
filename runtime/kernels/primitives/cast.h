// The conversion primitive.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// Converts each element of `from` to the dtype of `*to`. `*to` has the same shape, another dtype,
// and memory of its own. Both are real or complex numbers or bool; the functor of real numbers is
// Convert (runtime/kernels/primitives/elementwise/convert.h).
// - Rounding to a narrower float is to the nearest, ties to even, once the `cleared_bits` lowest
// bits
//   of the mantissa of a float or double, or of each part of a complex number, are cleared:
//   clearing all that the result cannot hold is truncation.
// - A real number becomes a complex one without an imaginary part. The imaginary part of a complex
//   number is dropped where the result is real.
struct Cast {
  using Function = absl::Status(KernelContext& ctx, const Tensor& from, int cleared_bits,
                                Tensor* to);

  // Returns false if a dtype is not a number, or if the dtypes are equal and need no conversion.
  static constexpr bool Supports(DType from, DType to) {
    constexpr DTypeSet kNumbers = kNumeric | kBool;
    return Contains(kNumbers, from) && Contains(kNumbers, to);
  }
};

}  // namespace tessera
