// The results of Classify, Regress and MultiInference as tensors by name, for whoever looks at
// answers and not at what they mean.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Returns "classes" and "scores", as far as they have values.
std::vector<NamedOutput> OutputsOf(const ClassifyResult& result);
// Returns "outputs".
std::vector<NamedOutput> OutputsOf(const RegressResult& result);
// Returns the outputs of all results, in their order.
std::vector<NamedOutput> OutputsOf(absl::Span<const InferenceResult> results);

}  // namespace tessera::serving
