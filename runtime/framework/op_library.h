// Ops and kernels from a user's shared library.
//
// The library is built against this runtime's headers and uses REGISTER_OP and REGISTER_KERNEL; its
// static initialisers fill the registries when it is loaded. docs/custom-ops.md has an example.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

// Loads the library, for the rest of the process's life. Loading one twice does nothing the second
// time. Thread-safe.
// Returns the names of the ops it added.
// Errors: INVALID_ARGUMENT with the loader's reason.
absl::StatusOr<std::vector<std::string>> LoadOpLibrary(const std::string& path);

}  // namespace tessera
