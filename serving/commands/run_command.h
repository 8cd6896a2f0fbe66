// The command `tessera run`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Loads a SavedModel, runs one signature once and prints its outputs.
Command RunCommand();

}  // namespace tessera::serving
