// The value of --op_library.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// Loads the shared libraries, separated by commas, and returns the names of the ops they add.
// Errors: those of LoadOpLibrary(), for the first that does not load.
absl::StatusOr<std::vector<std::string>> LoadOpLibraries(absl::string_view paths);

}  // namespace tessera::serving
