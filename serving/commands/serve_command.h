// `tessera serve`, and what tensorflow_model_server stands for.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace tessera::serving {

// Serves until SIGTERM or SIGINT, which lets requests under way finish; a second one ends the
// process at once. `program` is the name that usage shows; `args` are without it. Returns the exit
// code: 0 after a signal or --version; 255 for --help, a flag's value that does not fit, and a
// server that could not start, whose error goes to stdout.
int ServeCommand(const std::string& program, absl::Span<const std::string> args);

}  // namespace tessera::serving
