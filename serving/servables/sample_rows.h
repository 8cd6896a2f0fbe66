// Sampled requests as the batches that more of their like would make.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Visits `samples` anew with each number of rows: cut to it, or filled up with their first row. By
// number of rows, as these come; those of `samples` are left out, and so are requests that could
// not be batched, because their inputs do not all have the same number of rows, and requests with
// more than `max_bytes` of input. Of several that would be alike in shapes, there is one. One at a
// time is in memory.
void ForEachAtRows(absl::Span<const SampleRequest> samples, absl::Span<const int64_t> rows,
                   int64_t max_bytes, absl::FunctionRef<void(const SampleRequest&)> visit);

}  // namespace tessera::serving
