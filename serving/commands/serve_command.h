// The command `tessera serve`, which is also what the program does as tensorflow_model_server.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

struct ServerOptions;

// Serves until SIGTERM or SIGINT. The first signal lets running requests finish; a second one ends
// the process at once. The command line is read as tensorflow_model_server reads it. The exit code
// is 0 after a signal or --version; 255 for a flag with a wrong value, for --help under the name of
// tensorflow_model_server, and if the server could not start, in which case the error is printed to
// stdout.
Command ServeCommand();

// The same, with other defaults than those of ServerOptions. A file of --config and the flags in
// `args` override them.
int ServeCommand(const std::string& program, absl::Span<const std::string> args,
                 ServerOptions defaults);

}  // namespace tessera::serving
