// Indices that name slices of a tensor, checked once before any element moves.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Errors: INVALID_ARGUMENT naming the first element of `indices` that is not in [0, limit).
absl::Status CheckIndices(const Tensor& indices, int64_t limit);

// True if the node's `bad_indices_policy` says that coordinates out of range are skipped; records
// INVALID_ARGUMENT for an unknown policy. Nodes without the attribute do not skip.
bool IgnoresBadIndices(const KernelBuild& build);

// The indices of GatherNd and ScatterNd, made flat: the last dimension of `indices` holds
// coordinates of slices of a tensor.
//
//   shape [5, 4, 3], indices [[1, 2], [0, 0]]: depth 2, slice 3, slices [6, 0]
struct SliceIndex {
  int depth = 0;      // coordinates a slice
  int64_t slice = 1;  // elements a slice
  // int64, which slice, in units of `slice`; -1 to be skipped. A tensor, because a hostile shape
  // can ask for any number of them.
  Tensor slices;

  // Errors: INVALID_ARGUMENT for scalar indices, more coordinates than dimensions, or (unless
  // they are ignored) the first coordinates out of range;
  // RESOURCE_EXHAUSTED.
  static absl::StatusOr<SliceIndex> Make(KernelContext& ctx, const Shape& shape,
                                         const Tensor& indices, bool ignore_bad_indices);
};

}  // namespace tessera
