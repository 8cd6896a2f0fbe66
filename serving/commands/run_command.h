// The command `tessera run`.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace tessera::serving {

// Loads a SavedModel, runs one signature once and prints its outputs, see --help. `args` do not
// include the command. Returns the exit code: 0; 1 if the model does not load or the run fails; 2
// for wrong arguments.
int RunCommand(absl::Span<const std::string> args);

}  // namespace tessera::serving
