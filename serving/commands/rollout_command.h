// The command `tessera rollout`.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace tessera::serving {

// Shows and steers rollouts of a running server through its admin address, see --help. `args` do
// not include the command. Returns the exit code: 0; 1 if the server cannot be reached or refuses;
// 2 for wrong arguments.
int RolloutCommand(absl::Span<const std::string> args);

}  // namespace tessera::serving
