// Requests that nobody made, for versions that are to be warm before the first one that somebody
// makes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/session/saved_model.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// For each signature that leaves the model as it was, and each batch size, a request of zeros and
// empty strings for all outputs. Unknown dimensions are the batch size if they come first, else 1.
// Signatures that have an input of unknown rank, or of more than kMaxMadeUpBytes, are left out.
std::vector<SampleRequest> MakeUpRequests(const std::map<std::string, Signature>& signatures,
                                          absl::Span<const int64_t> batch_sizes);

inline constexpr int64_t kMaxMadeUpBytes = 256 << 20;

}  // namespace tessera::serving
