// The limit of files and connections that the process may have open.
#pragma once

namespace tessera::serving {

// Raises the limit of open files as far as an unprivileged process may: to the hard limit. The
// usual soft limit of 1024 is for programs that call select(). A server reaches it when all its
// clients come back at once, and gRPC never accepts another connection once one could not be
// opened.
void RaiseDescriptorLimit();

}  // namespace tessera::serving
