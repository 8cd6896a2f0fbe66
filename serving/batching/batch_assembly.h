// Merges the tensors of several requests into those of one batch, and splits them again.
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

// How requests are merged whose dimensions differ beyond the first.
enum class RowPadding { kNone, kVariableLength };

// Returns true if the two lists can be merged. They must have as many tensors, of the same dtypes,
// none of which are resource handles or variants. Their shapes must be equal beyond the first
// dimension; with kVariableLength equal ranks are enough. Requires tensors of rank 1 or more that
// have elements. This is an equivalence relation.
bool CanMerge(absl::Span<const Tensor> a, absl::Span<const Tensor> b, RowPadding padding);

// Returns new tensors that hold the rows of all `ranges` one after the other. Smaller rows are
// padded at the end of each dimension with the first element of the tensor that they come from. The
// first row of the last range is repeated until there are `padded_rows` rows. Requires that every
// two ranges can be merged, and that they have no more rows than `padded_rows`. Errors:
// RESOURCE_EXHAUSTED.
absl::StatusOr<std::vector<Tensor>> MergeRows(absl::Span<const TensorRows> ranges,
                                              int64_t padded_rows);

// Returns FAILED_PRECONDITION unless the first dimension of each tensor is `rows`.
absl::Status CheckOutputRows(absl::Span<const Tensor> outputs, int64_t rows);

// Returns rows [begin, end) of each tensor, which share its memory. Requires that each tensor has
// at least `end` rows.
std::vector<Tensor> SliceRows(absl::Span<const Tensor> tensors, int64_t begin, int64_t end);

}  // namespace tessera::serving
