// The command `tessera man`.
#pragma once

#include <vector>

#include "serving/commands/command.h"

namespace tessera::serving {

// Prints the manual page tessera(1), with all of `commands()`.
Command ManCommand(std::vector<Command> (*commands)());

}  // namespace tessera::serving
