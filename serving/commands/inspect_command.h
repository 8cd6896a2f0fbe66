// `tessera inspect`.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace tessera::serving {

// Prints what is in a SavedModel, a GraphDef or a checkpoint; `args` are without the command. See
// --help. Returns the exit code: 0, 1 if there is nothing to describe, 2 for wrong arguments.
int InspectCommand(absl::Span<const std::string> args);

}  // namespace tessera::serving
