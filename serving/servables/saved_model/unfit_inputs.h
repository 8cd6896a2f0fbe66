// Tells a client which of its inputs made a run fail.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"
#include "serving/servables/saved_model/signature_runs.h"

namespace tessera::serving {

// Returns the error of a run in the client's terms: which inputs do not have the dtype or the shape
// that the signature declares. `feeds` are all inputs in the order of their positions. Without such
// an input, or if the error is not INVALID_ARGUMENT, returns the error as it is.
//
// Inputs are compared after a run has failed and not before, because a run may well succeed with
// them: TensorFlow Serving never checks shapes, and clients rely on it.
absl::Status NameUnfitInputs(const SignatureRuns& runs, absl::Span<const Tensor> feeds,
                             const absl::Status& error);

}  // namespace tessera::serving
