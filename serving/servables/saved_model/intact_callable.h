// MakeIntactCallable: fails runs whose weights were damaged on disk.
#pragma once

#include <memory>
#include <string>

#include "runtime/session/session.h"

namespace tessera::serving {

// Returns a callable that runs `callable`, and then fails with DATA_LOSS if data of the model in
// `directory` was found to be lost, because the answer may have been computed from zeros. See
// CheckMappings().
std::shared_ptr<const Callable> MakeIntactCallable(std::string directory,
                                                   std::shared_ptr<const Callable> callable);

}  // namespace tessera::serving
