// Made-up requests, which warm up a version before the first request of a client.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

// Visits one request for each batch size and each pure signature. The inputs are zeros
// and empty strings, and all outputs are asked for. An unknown dimension becomes the batch size if
// it is the first dimension of its input, else 1. A signature without an unknown first dimension is
// visited at the first batch size alone. Of signatures that run the same computation, one is
// visited.
// No request is made for a signature with an input of unknown rank, or whose inputs would take more
// than kMaxMadeUpBytes; at the second batch size and all further ones, more than kMaxBatchBytes. A
// model computes with many times the bytes of its input, and such a batch may never come.
// One request at a time is in memory.
void ForEachMadeUpRequest(const SignatureMap& signatures, absl::Span<const int64_t> batch_sizes,
                          absl::FunctionRef<void(const SampleRequest&)> visit);

inline constexpr int64_t kMaxMadeUpBytes = 256 << 20;
inline constexpr int64_t kMaxBatchBytes = 32 << 20;

}  // namespace tessera::serving
