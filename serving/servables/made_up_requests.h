// Requests that nobody made, for versions that are to be warm before the first one that somebody
// makes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "runtime/session/saved_model.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Visits, for each batch size, and each signature that leaves the model as it was, a request of
// zeros and empty strings for all outputs. Unknown dimensions are the batch size if they come
// first, else 1; a signature without such a first dimension is asked at the first batch size alone,
// and one that is the same run as another not at all.
// Left out are requests with an input of unknown rank, or of more than kMaxMadeUpBytes; at further
// batch sizes than the first, of more than kMaxBatchBytes: what a model computes with is many times
// its input, and nobody may ever ask it so much. One request at a time is in memory.
void ForEachMadeUpRequest(const std::map<std::string, Signature>& signatures,
                          absl::Span<const int64_t> batch_sizes,
                          absl::FunctionRef<void(const SampleRequest&)> visit);

inline constexpr int64_t kMaxMadeUpBytes = 256 << 20;
inline constexpr int64_t kMaxBatchBytes = 32 << 20;

}  // namespace tessera::serving
