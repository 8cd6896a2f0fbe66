// Whether a version could be loaded, as far as that shows without loading it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tessera::serving {

// Reads the graph of a version and the index of its weights, and returns what is wrong with them;
// nothing if a load has good prospects. `path` is the folder of the version, or the prefix of a
// checkpoint, whose graph stands elsewhere and is not looked at. Custom ops count if their
// libraries have been loaded.
std::vector<absl::Status> CheckVersion(const std::string& path, const std::set<std::string>& tags);

}  // namespace tessera::serving
