// Compares what models answer by a plan that was made for other weights with what they answer by a
// plan of their own.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"
#include "tests/conformance/recorded_models.h"

namespace tessera {

// Writes the checkpoint `from` as `to`, every number of which is a little different and in which no
// float is 0 or 1. Integers, strings and bools stay.
absl::Status WriteOtherWeights(const std::string& from, const std::string& to);

// Loads the model of a recording with its own weights, then other weights on its graph. Loads those
// on a graph imported anew as well, and runs the recorded requests on both.
// Returns whether the other weights were loaded without planning anything. Errors: DATA_LOSS with
// the first answer that is not the same bit for bit; UNIMPLEMENTED for models that take no weights
// alone; whatever loading gives.
absl::StatusOr<bool> CompareReusedPlans(const Recording& recording, const SessionOptions& options);

}  // namespace tessera
