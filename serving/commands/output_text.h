// Prints what a model answered.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Prints one line for each output to stdout: "y: float[3] [2.5 3 4.5]", up to a thousand elements;
// or, as JSON, {"outputs": ...} as the REST API does.
// Errors: INVALID_ARGUMENT for an output whose type has no JSON form.
absl::Status PrintOutputs(absl::Span<const NamedOutput> outputs, bool as_json);

}  // namespace tessera::serving
