// Whether the files of a checkpoint are there, as far as that shows without reading its data.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tessera {

// Returns OK if the index of the checkpoint can be read, and its data files reach as far as the
// index says and have no holes that are still to be filled. Reads the index alone.
// Errors: those of ReadCheckpointIndex(); NOT_FOUND for a data file that is missing; DATA_LOSS for
// one that is too short or has holes.
absl::Status CheckCheckpointFiles(const std::string& prefix);

}  // namespace tessera
