// Writes the sample job of `tessera train --init digits`.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tessera::serving {

// Writes a job that runs as it stands to a folder: job.yaml, forward.pbtxt and two files of
// examples in data/. Creates the folder if it is missing. Errors: ALREADY_EXISTS if the folder has
// a job.yaml; those of the file system.
absl::Status WriteDigitsJob(const std::string& folder);

}  // namespace tessera::serving
