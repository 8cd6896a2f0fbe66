// Loads ops and kernels from a user's shared library.
//
// The library is built against the headers of this runtime and uses REGISTER_OP and
// REGISTER_KERNEL. What its static initialisers register enters the registries when it is loaded.
// docs/custom-ops.md has an example.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

// Loads the library for the rest of the process's life, and returns the names of the ops that it
// added. Loading a library again adds nothing. Thread-safe.
// Errors: NOT_FOUND, PERMISSION_DENIED for a path that cannot be read; INVALID_ARGUMENT with the
// reason of the dynamic linker, and with the remedy if the library was built against headers of
// another ABI (see op_abi.h); nothing of the library has run then. ALREADY_EXISTS if it declares an
// op that is declared already; nothing of it was registered then.
absl::StatusOr<std::vector<std::string>> LoadOpLibrary(const std::string& path);

}  // namespace tessera
