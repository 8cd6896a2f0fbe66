// The command `tessera inspect`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Describes a SavedModel, a GraphDef or a checkpoint.
Command InspectCommand();

}  // namespace tessera::serving
