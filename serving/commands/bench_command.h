// The command `tessera bench`.
#pragma once

#include "serving/commands/command.h"

namespace tessera::serving {

// Measures latency and throughput of a SavedModel in this process or of a model on a server.
Command BenchCommand();

}  // namespace tessera::serving
