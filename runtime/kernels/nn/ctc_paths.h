// Common parts of the decoders of connectionist temporal classification (A. Graves et al., 2006).
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Checks inputs 0, logits [time, batch, classes], and 1, the length of each sequence.
// Errors: INVALID_ARGUMENT for other shapes and negative lengths; FAILED_PRECONDITION for a length
// above `time`.
absl::Status CheckCtcInputs(const KernelContext& ctx);

// Sets outputs `indices`, `values` and `shape` to the sparse matrix whose rows are the paths.
absl::Status WriteCtcPaths(KernelContext& ctx, int indices, int values, int shape,
                           const std::vector<std::vector<int64_t>>& paths);

}  // namespace tessera
