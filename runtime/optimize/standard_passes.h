// The passes that every graph goes through. A new pass is added here and nowhere else.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/optimize/pass.h"

namespace tessera {

// Returns the passes in the order in which Optimize() runs them, until nothing changes.
const PassList& StandardPasses();

// Returns the passes that Optimize() runs once after these, because they take apart what the others
// look for.
const PassList& FinalPasses();

// Returns the names of all passes in the same order. Users give these names to --disable_pass.
std::vector<std::string> StandardPassNames();

// Errors: INVALID_ARGUMENT for a name that no standard pass has; the error lists all names.
absl::Status CheckPassNames(const std::vector<std::string>& names);

}  // namespace tessera
