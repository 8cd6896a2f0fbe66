// Loops over the rows of a batch, each thread with a share of them for all steps of a sequence, so
// that threads need not wait for each other at every step.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Calls run(begin, end) for shares of [0, rows), as many as there are threads if all rows together
// take long enough. `nanoseconds` is what one row takes. Loops inside `run` use no further threads
// unless the share is all rows. Returns the first error.
absl::Status ForEachBatchShare(KernelContext& ctx, int64_t rows, double nanoseconds,
                               absl::FunctionRef<absl::Status(int64_t begin, int64_t end)> run);

}  // namespace tessera
