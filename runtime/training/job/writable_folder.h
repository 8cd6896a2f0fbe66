// Whether a job will be able to write its results, asked before it trains.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tessera {

// Checks that `path` is a folder in which files can be made, or that such a folder can be made with
// its parents. Makes nothing. Errors, with RunFailure::kWrite: FAILED_PRECONDITION if a file stands
// in the way, or for a file system of the kernel, such as /proc; PERMISSION_DENIED if the nearest
// folder that exists cannot be written to.
absl::Status CheckWritableFolder(const std::string& path);

}  // namespace tessera
