// Between one sparse tensor and those of its rows.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {

// Returns a sparse tensor for each element of the first dimension, without that dimension. Entries
// keep their order. Errors: INVALID_ARGUMENT for less than two dimensions, and for a row out of
// range; RESOURCE_EXHAUSTED for an absurd number of rows.
absl::StatusOr<std::vector<SparseTensor>> SplitRows(KernelContext& ctx, const SparseTensor& sparse);

// Sets outputs 0 to 2 to one sparse tensor of `parts`. Its first dimensions are `batch`, whose
// product is the number of parts; its other dimensions are large enough for each of them. `parts`
// is not empty, and the parts have one dtype. Errors: INVALID_ARGUMENT for parts of different
// ranks.
absl::Status JoinSparse(KernelContext& ctx, absl::Span<const SparseTensor> parts,
                        absl::Span<const int64_t> batch);

}  // namespace tessera
