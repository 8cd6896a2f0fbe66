// The command `tessera health`.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace tessera::serving {

// Asks a server on this machine whether it is ready, see --help. `args` do not include the command.
// Returns the exit code: 0 if it is; 1 if not, with a line on stderr that says why; 2 for wrong
// arguments. Needs no shell, so that a container's health check can run it.
int HealthCommand(absl::Span<const std::string> args);

}  // namespace tessera::serving
