// The manual page.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "serving/commands/command.h"

namespace tessera::serving {

// Returns tessera(1) in the macros of man(7).
std::string ManPage(absl::Span<const Command> commands);

}  // namespace tessera::serving
