// Converts coordinates in one shape to coordinates in another shape.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct ReshapeIndices {
  // Row i of `from`, int64 [n, from_dims.size()], holds the coordinates of an element in a
  // row-major array with the dimensions `from_dims`. Row i of `to`, int64 [n, to_dims.size()], gets
  // the coordinates of the same element in an array with the dimensions `to_dims`. Both arrays have
  // the same number of elements. Coordinates are not checked.
  // Errors: UNIMPLEMENTED for more dimensions than a device supports; a GPU supports 16.
  using Function = absl::Status(KernelContext& ctx, absl::Span<const int64_t> from_dims,
                                const Tensor& from, absl::Span<const int64_t> to_dims, Tensor* to);
};

}  // namespace tessera
