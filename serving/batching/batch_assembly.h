// Tensors of several requests as those of one, and back.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

// Rows [begin, end) of tensors that have the same first dimension.
struct TensorRows {
  absl::Span<const Tensor> tensors;
  int64_t begin = 0;
  int64_t end = 0;
};

// How requests whose dimensions beyond the first differ are merged.
enum class RowPadding { kNone, kVariableLength };

// True if the two lists can be merged: as many tensors, of the same dtypes, which are not handles
// or variants, and of the same shapes beyond the first dimension; with kVariableLength of the same
// ranks. Requires tensors of rank 1 or more that have elements. An equivalence.
bool CanMerge(absl::Span<const Tensor> a, absl::Span<const Tensor> b, RowPadding padding);

// New tensors in which the rows of all `ranges` stand one below the other. Smaller rows are padded
// at the end of each dimension with the first element of the tensor they come from. Up to
// `padded_rows`, the first row of the last range is repeated.
// Requires ranges of which each two can be merged, and no more rows than `padded_rows`.
// Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<std::vector<Tensor>> MergeRows(absl::Span<const TensorRows> ranges,
                                              int64_t padded_rows);

// FAILED_PRECONDITION unless each tensor has a first dimension of `rows`.
absl::Status CheckOutputRows(absl::Span<const Tensor> outputs, int64_t rows);

// Rows [begin, end) of each, in the same memory. Requires that they have so many rows.
std::vector<Tensor> SliceRows(absl::Span<const Tensor> tensors, int64_t begin, int64_t end);

}  // namespace tessera::serving
