// The command `tessera serve`, which is also what the program does as tensorflow_model_server.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace tessera::serving {

// Serves until SIGTERM or SIGINT. The first signal lets running requests finish; a second one ends
// the process at once. `program` is the name that usage shows; `args` do not include it. Returns
// the exit code: 0 after a signal or --version; 255 for --help, for a flag with a wrong value, and
// if the server could not start, in which case the error is printed to stdout.
int ServeCommand(const std::string& program, absl::Span<const std::string> args);

}  // namespace tessera::serving
