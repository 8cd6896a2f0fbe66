// Transformations that other datasets are made of as well.
#pragma once

#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {

// A function of each element, with up to `num_parallel_calls` calls at once; kAutotune leaves the
// number to the runtime.
DatasetPtr ParallelMapped(const DatasetPtr& input, ElementSpec spec, FunctionPtr function,
                          int64_t num_parallel_calls, bool preserves_cardinality);
// Batches of consecutive elements, in host memory of `allocator`, which must outlive them.
DatasetPtr Batched(const DatasetPtr& input, int64_t batch_size, bool drop_remainder,
                   Allocator* allocator);
// The same elements, up to `buffer_size` of which are made before they are asked for.
DatasetPtr Prefetched(const DatasetPtr& input, int64_t buffer_size);

// A number that is left to the runtime.
inline constexpr int64_t kAutotune = -1;
// Errors: INVALID_ARGUMENT for a number that is neither positive nor kAutotune.
absl::Status CheckParallelCalls(int64_t num_parallel_calls);

}  // namespace tessera
