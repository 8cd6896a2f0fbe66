// The command `tessera profile`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Records a trace of a running server through its ProfilerService, and writes it to a file.
Command ProfileCommand();

}  // namespace tessera::serving
