// Transformations that other datasets are made of as well.
#pragma once

#include <functional>
#include <memory>

#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {

// A number that is left to the runtime.
inline constexpr int64_t kAutotune = -1;
// Errors: INVALID_ARGUMENT for a number that is neither positive nor kAutotune.
absl::Status CheckParallelCalls(int64_t num_parallel_calls);

// The function that a map applies to an element, which it consumes. Thread-safe. OUT_OF_RANGE ends
// the dataset.
using ElementFunction =
    std::function<absl::Status(StepContext& step, Element args, Element* results)>;
// A call of a function of the graph.
ElementFunction CallOf(FunctionPtr function);

// A function of each element, with up to `num_parallel_calls` calls at once; kAutotune leaves the
// number to the runtime.
struct ElementMap {
  ElementFunction function;
  int64_t num_parallel_calls = kAutotune;
  bool preserves_cardinality = false;
};
DatasetPtr ParallelMapped(const DatasetPtr& input, ElementSpec spec, ElementMap map);

// Batches of consecutive elements, in host memory of `allocator`, which must outlive them.
struct BatchOptions {
  int64_t size = 1;
  bool drop_remainder = false;
  Allocator* allocator = nullptr;
};
DatasetPtr Batched(const DatasetPtr& input, const BatchOptions& batch);
// Batches of what a map gives; `element_spec` says what that is.
DatasetPtr MapAndBatched(const DatasetPtr& input, ElementSpec element_spec, ElementMap map,
                         const BatchOptions& batch);
// Returns MapAndBatched() if `input` is a parallel map, else null.
DatasetPtr BatchedIfMapped(const Dataset& input, const BatchOptions& batch);

// The same elements, up to `buffer_size` of which are made before they are asked for.
DatasetPtr Prefetched(const DatasetPtr& input, int64_t buffer_size);

}  // namespace tessera
