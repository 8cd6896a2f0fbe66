// Loads the op libraries of the flag --op_library.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// Loads shared libraries, whose names are separated by commas, and returns the names of the ops
// that they add. Errors: those of LoadOpLibrary(), for the first library that does not load.
absl::StatusOr<std::vector<std::string>> LoadOpLibraries(absl::string_view paths);

}  // namespace tessera::serving
