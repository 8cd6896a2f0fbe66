// The command `tessera train`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Runs the training job of a YAML file, checks it, or writes a sample of one.
Command TrainCommand();

}  // namespace tessera::serving
