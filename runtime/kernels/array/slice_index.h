// Indices that hold coordinates of slices: those of GatherNd and ScatterNd.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/ravel_multi_index.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Returns the node's `bad_indices_policy`, kError without one; records INVALID_ARGUMENT for an
// unknown policy.
BadIndices BadIndicesPolicy(const KernelBuild& build);

// The slices of a tensor that coordinates name, found before any element moves.
struct SliceIndex {
  int depth = 0;      // coordinates a slice
  int64_t size = 1;   // slices of the tensor
  int64_t slice = 1;  // elements a slice
  // See RavelMultiIndex. A tensor, because a hostile shape can ask for any number of them.
  Tensor positions;

  // Errors: INVALID_ARGUMENT for scalar indices, more coordinates than dimensions, or bad
  // coordinates; RESOURCE_EXHAUSTED.
  static absl::StatusOr<SliceIndex> Make(KernelContext& ctx,
                                         const Primitive<RavelMultiIndex>& ravel,
                                         const Shape& shape, const Tensor& indices,
                                         BadIndices bad_indices);
};

}  // namespace tessera
