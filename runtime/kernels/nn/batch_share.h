// Loops over the rows of a batch for recurrent cells, each thread with a share of them for all
// steps of a sequence, so that threads need not wait for each other at every step.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The work for one row of a batch: in each step the product with a units x (gates * units) matrix,
// and the cell.
struct RecurrentRow {
  int64_t steps = 0, units = 0, gates = 0;
};

// Calls run(begin, end) for shares of [0, rows), as many as there are threads if all rows together
// take long enough. Loops inside `run` use no further threads unless the share is all rows. Returns
// the first error.
absl::Status ForEachBatchShare(KernelContext& ctx, int64_t rows, const RecurrentRow& row,
                               absl::FunctionRef<absl::Status(int64_t begin, int64_t end)> run);

}  // namespace tessera
