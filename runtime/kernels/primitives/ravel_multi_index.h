// The primitive that converts coordinates to positions in a row-major array.
#pragma once

#include "runtime/kernels/primitives/bad_indices.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct RavelMultiIndex {
  // The last dimension of `indices` holds coordinates in the leading dimensions of `shape`, at most
  // as many as the shape has. The primitive writes the position of the slice that each group of
  // coordinates names, or -1 for coordinates that are skipped:
  //
  //   shape [5, 4, 3], indices [[1, 2], [0, 0]]: positions [6, 0]
  //
  // `positions` is an int64 vector. The error of kError is "indices[2] = [7, 1] does not lie within
  // shape [5,4,3]"; kWrap is not supported.
  using Function = absl::Status(KernelContext& ctx, const Shape& shape, const Tensor& indices,
                                BadIndices bad_indices, Tensor* positions);
};

}  // namespace tessera
