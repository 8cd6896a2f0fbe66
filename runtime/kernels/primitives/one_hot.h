// One-hot encoding of indices along a new dimension.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct OneHot {
  // Sets output[o, indices[o, i], i] to the scalar `on`, and all other elements to the scalar
  // `off`. `indices` has the shape [outer, inner] and integers of any width, and the output has the
  // shape [outer, depth, inner]. An index outside [0, depth) sets nothing to `on`. `on`, `off` and
  // the output have one dtype, of any size.
  using Function = absl::Status(KernelContext& ctx, int64_t depth, int64_t inner,
                                const Tensor& indices, const Tensor& on, const Tensor& off,
                                Tensor* output);
};

}  // namespace tessera
