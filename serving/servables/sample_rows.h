// Makes batches of other sizes from sampled requests.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Visits, for each number in `rows` and in their order, the samples with that many rows. Their
// inputs are cut to it, or filled up with their first row. Of several samples that would have the
// same shapes, one is visited. Left out are numbers of rows that a sample of the same shapes has
// already, samples that could not be batched because their inputs differ in the number of rows, and
// requests whose inputs would take more than `max_bytes`. One request at a time is in memory.
void ForEachAtRows(absl::Span<const SampleRequest> samples, absl::Span<const int64_t> rows,
                   int64_t max_bytes, absl::FunctionRef<void(const SampleRequest&)> visit);

}  // namespace tessera::serving
