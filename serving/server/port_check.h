// Whether ports can be listened on, asked before models are loaded.
#pragma once

#include "absl/status/status.h"

namespace tessera::serving {

// Returns OK if a server may listen on this TCP port of all addresses now. 0 is no port, and OK.
// Errors: INVALID_ARGUMENT with the reason, such as that another server listens on it.
absl::Status CheckPortIsFree(int port);

}  // namespace tessera::serving
