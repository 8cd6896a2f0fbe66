// The command `tessera plot`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Draws the curves of training runs.
Command PlotCommand();

}  // namespace tessera::serving
