// Coordinates of one shape as those of another.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct ReshapeIndices {
  // Row i of `to`, int64 [n, to_dims.size()], becomes the coordinates in an array of `to_dims` of
  // the element that row i of `from`, int64 [n, from_dims.size()], names in one of `from_dims` in
  // row-major order. Both have as many elements. Coordinates are not checked.
  // Errors: UNIMPLEMENTED for more dimensions than a device supports; a GPU's are 16.
  using Function = absl::Status(KernelContext& ctx, absl::Span<const int64_t> from_dims,
                                const Tensor& from, absl::Span<const int64_t> to_dims, Tensor* to);
};

}  // namespace tessera
