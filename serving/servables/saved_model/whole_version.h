// Whether a version is all there, as far as its files tell themselves.
#pragma once

#include <string>

namespace tessera::serving {

// Returns true if the directory holds a SavedModel whose graph can be parsed and whose variables
// reach as far as their index says. False where that cannot be told: for a SavedModel with assets,
// whose lengths nothing tells, one in text form or with a graph of more than 64 MiB, which takes
// long to parse, and for weights alone, whose graph may be on its way.
bool IsWholeVersion(const std::string& path);

}  // namespace tessera::serving
