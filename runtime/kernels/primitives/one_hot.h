// A new dimension with a mark at an index.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct OneHot {
  // For `indices` of shape [outer, inner], integers of any width, the output of shape
  // [outer, depth, inner]: output[o, indices[o, i], i] is the scalar `on`, all else the scalar
  // `off`. An index out of [0, depth) has no mark. The three have one dtype, of any size.
  using Function = absl::Status(KernelContext& ctx, int64_t depth, int64_t inner,
                                const Tensor& indices, const Tensor& on, const Tensor& off,
                                Tensor* output);
};

}  // namespace tessera
