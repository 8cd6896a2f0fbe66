// Row splits: how ragged tensors say where their rows begin and end.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Reads a vector of int32 or int64 splits: row i holds the elements [splits[i], splits[i + 1]) of
// `num_values`.
// Errors: INVALID_ARGUMENT naming `name` unless they begin with 0, never fall and end with
// `num_values` (pass -1 if any end will do).
absl::StatusOr<std::vector<int64_t>> ReadRowSplits(const Tensor& tensor, int64_t num_values,
                                                   absl::string_view name);

// Writes splits as int32 or int64, whichever the output is.
// Errors: INVALID_ARGUMENT if one does not fit.
absl::Status WriteRowSplits(absl::Span<const int64_t> splits, Tensor* output);

}  // namespace tessera
