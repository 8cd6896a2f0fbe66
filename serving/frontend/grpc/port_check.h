// Whether ports and Unix sockets can be listened on, asked before models are loaded or gRPC starts.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tessera::serving {

// Returns OK if a server may listen on this TCP port of all addresses now. 0 is no port, and OK.
// Errors: INVALID_ARGUMENT with the reason, such as that another server listens on it.
absl::Status CheckPortIsFree(int port);

// Returns OK unless a server listens on the Unix socket at this path, which another one would take
// away from it, and which would be gone for both once the first one ends. The socket that a server
// left behind when it crashed is OK. Errors: INVALID_ARGUMENT.
absl::Status CheckSocketIsFree(const std::string& path);

// The descriptors that must be free before gRPC starts: those of its events and of its listeners,
// and a few for the first connections.
inline constexpr int kDescriptorsToListen = 8;

// Returns OK if the process may open `count` more file descriptors now.
// Errors: RESOURCE_EXHAUSTED with the limit and how to raise it.
absl::Status CheckDescriptorsAreFree(int count);

}  // namespace tessera::serving
