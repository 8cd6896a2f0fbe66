// The options of a session that serves a model.
#pragma once

#include "runtime/session/session.h"

namespace tessera::serving {

// Whatever loads a model as a server does starts from these, so that it computes the same.
SessionOptions ServingSessionOptions();

}  // namespace tessera::serving
