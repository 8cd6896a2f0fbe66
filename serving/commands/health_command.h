// The command `tessera health`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Asks a server on this machine whether it is ready. Needs no shell, so that a container's health
// check can run it.
Command HealthCommand();

}  // namespace tessera::serving
