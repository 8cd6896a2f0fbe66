// Made-up requests, which warm up a version before the first request of a client.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/tensor/shape.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

// Returns the shape of a made-up input: an unknown dimension becomes the batch size if it is the
// first one, else 1. Requires a known rank. Errors: those of Shape::Make().
absl::StatusOr<Shape> MadeUpShape(const PartialShape& shape, int64_t batch_size);

// Visits one request for each batch size and each pure signature. The inputs are zeros
// and empty strings of MadeUpShape(), and all outputs are asked for. A signature without an unknown
// first dimension is visited at the first batch size alone. Of signatures that run the same
// computation, one is visited. No request is made for a signature with an input of unknown rank, or
// whose inputs would take more than kMaxMadeUpBytes; at the second batch size and all further ones,
// more than kMaxBatchBytes. A model computes with many times the bytes of its input, and such a
// batch may never come. One request at a time is in memory.
void ForEachMadeUpRequest(const SignatureMap& signatures, absl::Span<const int64_t> batch_sizes,
                          absl::FunctionRef<void(const SampleRequest&)> visit);

inline constexpr int64_t kMaxMadeUpBytes = 256 << 20;
inline constexpr int64_t kMaxBatchBytes = 32 << 20;

}  // namespace tessera::serving
