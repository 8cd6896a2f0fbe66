// Picks slices of a tensor by index.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/bad_indices.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct Gather {
  // The shapes of the tensors as this primitive sees them. For slices along `axis`, `outer` is the
  // product of the dimensions between the batch dimensions and the axis.
  struct Geometry {
    int64_t batch = 1;
    int64_t outer = 1;
    int64_t size = 0;   // params: [batch, outer, size, slice]
    int64_t picks = 0;  // indices: [batch, picks]; output: [batch, outer, picks, slice]
    int64_t slice = 1;
  };

  // Sets output[b, o, i] = params[b, o, indices[b, i]], slice by slice. Indices are integers of any
  // width and must be in [0, size); kWrap is not supported. They are checked even if the slices are
  // empty.
  using Function = absl::Status(KernelContext& ctx, const Geometry& geometry, const Tensor& params,
                                const Tensor& indices, BadIndices bad_indices, Tensor* output);
};

}  // namespace tessera
