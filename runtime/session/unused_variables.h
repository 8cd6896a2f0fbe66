// Gives memory of variables back that no run reads.
#pragma once

#include "runtime/framework/resource_manager.h"

namespace tessera {

// Removes the pages of unused variables from resident memory, if they are mapped from a checkpoint.
// A variable is unused if nothing but the resource manager holds its value: the checkpoint has it
// twice, or no compiled run has it as a constant. A later reader gets the pages back from the
// system's cache of the file. To be called once the model is warm. Thread-safe, also against
// readers of the variables.
void ReleaseUnusedVariables(const ResourceManager& resources);

}  // namespace tessera
