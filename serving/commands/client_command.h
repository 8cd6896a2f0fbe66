// The command `tessera client`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Asks a running server: predictions, states of versions, signatures.
Command ClientCommand();

}  // namespace tessera::serving
