// The command `tessera inspect`.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace tessera::serving {

// Describes a SavedModel, a GraphDef or a checkpoint on stdout, see --help. `args` do not include
// the command. Returns the exit code: 0; 1 if there is nothing to describe; 2 for wrong arguments.
int InspectCommand(absl::Span<const std::string> args);

}  // namespace tessera::serving
