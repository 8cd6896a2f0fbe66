// The command `tessera completion`.
#pragma once

#include <vector>

#include "serving/commands/command.h"

namespace tessera::serving {

// Prints a script for a shell that completes command lines of `commands()`.
Command CompletionCommand(std::vector<Command> (*commands)());

}  // namespace tessera::serving
