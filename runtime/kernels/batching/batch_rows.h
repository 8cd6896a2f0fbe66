// Rows, the slices of tensors along their first dimension, joined to batches and taken apart again.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Returns how many rows each of these tensors has.
// Errors: INVALID_ARGUMENT if one is a scalar, or if they differ.
absl::StatusOr<int64_t> NumRows(absl::Span<const Tensor> tensors);

// Joins tensors with rows of one dtype and shape, and repeats the first row of the first tensor
// `padding` times behind them, in memory of `allocator`, the host's. A single tensor without
// padding is shared. Errors: INVALID_ARGUMENT if rows differ, or if there is none to repeat; those
// of allocating.
absl::StatusOr<Tensor> JoinRows(absl::Span<const Tensor> tensors, int64_t padding,
                                Allocator* allocator);

// Returns the smallest of `allowed_sizes`, which rise, that is at least `rows`; `rows` if there is
// none.
int64_t PaddedRows(absl::Span<const int64_t> allowed_sizes, int64_t rows);

}  // namespace tessera
