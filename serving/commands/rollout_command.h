// The command `tessera rollout`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Shows and steers rollouts of a running server through its admin address.
Command RolloutCommand();

}  // namespace tessera::serving
