// Names of passes as users give them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tessera {

// Errors: INVALID_ARGUMENT for a name that no standard pass has, listing those there are.
absl::Status CheckPassNames(const std::vector<std::string>& names);

}  // namespace tessera
