// Joins the elements of a dataset to batches.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/dataset.h"

namespace tessera {

// Stacks `elements`, of which there is at least one: component i of the batch has a row for
// component i of each. Consumes the elements. Large batches are copied by `pool`, which may be
// null. The memory is `allocator`'s, the host's. Errors: INVALID_ARGUMENT for a component whose
// shapes differ; RESOURCE_EXHAUSTED.
absl::StatusOr<Element> Stack(std::vector<Element> elements, ThreadPool* pool,
                              Allocator* allocator);

// Returns what is known of batches of elements: each shape has a dimension more, which is `rows` or
// -1.
ElementSpec SpecOfBatches(const ElementSpec& spec, int64_t rows);

// Returns the number of batches of `batch_size` of a dataset with cardinality `n`.
int64_t NumBatches(int64_t n, int64_t batch_size, bool drop_remainder);

// Reads up to `count` elements from `input`. Fewer come at its end. Errors: those of the input.
absl::StatusOr<std::vector<Element>> ReadElements(StepContext& step, Iterator& input,
                                                  int64_t count);

// Reads the scalar input `batch_size`. Errors: INVALID_ARGUMENT unless it is positive.
absl::StatusOr<int64_t> BatchSizeInput(const KernelContext& ctx, int i);

}  // namespace tessera
