// Why a run of a training job failed, for exit codes.
#pragma once

#include <optional>

#include "absl/status/status.h"

namespace tessera {

enum class RunFailure {
  kFolderInUse,  // another process trains in the folder
  kNotFinite,    // the loss, or an output, is NaN or infinite
  kData,         // a damaged or missing file of examples, an example that does not fit, no batch
  kCheckpoint,   // the checkpoint to resume from is damaged, or does not fit the graph
  kWrite,        // a checkpoint, a log or an exported version could not be written
  kStepTimeout,  // a step, or the wait for its batch, took too long
};

// Returns the same status with the failure attached. An OK status stays OK, and a status that has a
// failure keeps it.
absl::Status WithFailure(const absl::Status& status, RunFailure failure);

// Returns what WithFailure() attached.
std::optional<RunFailure> FailureOf(const absl::Status& status);

}  // namespace tessera
