// Whether the files of a checkpoint are there, as far as that shows without reading its data.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tessera {

// Returns OK if the index of the checkpoint can be read, and its data files reach as far as the
// index says. Reads the index alone. Sets `*has_holes` if a file takes less of the disk than its
// size: what is missing may still be to be filled, or be zeros.
// Errors: those of ReadCheckpointIndex(); NOT_FOUND for a data file that is missing; DATA_LOSS for
// one that is too short.
absl::Status CheckCheckpointFiles(const std::string& prefix, bool* has_holes);

}  // namespace tessera
