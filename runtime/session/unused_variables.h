// Variables that are there, but that no run reads.
#pragma once

#include "runtime/framework/resource_manager.h"

namespace tessera {

// Lets the mapped pages of variables whose values nothing else holds leave resident memory: those
// that a checkpoint has twice, or that no compiled run has as a constant. Whoever reads such a
// variable all the same gets its pages from the system's cache of the file. To be called once the
// model is warm. Thread-safe, also for readers of the variables.
void ReleaseUnusedVariables(const ResourceManager& resources);

}  // namespace tessera
