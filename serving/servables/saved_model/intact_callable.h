// Runs whose answers come from weights that are all there.
#pragma once

#include <memory>
#include <string>

#include "runtime/session/session.h"

namespace tessera::serving {

// Runs `callable`, and makes DATA_LOSS of a run after which data of the model in `directory` is
// found to be lost: its answer may be made of zeros. See CheckMappings().
std::shared_ptr<const Callable> MakeIntactCallable(std::string directory,
                                                   std::shared_ptr<const Callable> callable);

}  // namespace tessera::serving
