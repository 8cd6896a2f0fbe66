// Scripts by which shells complete command lines of the program.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "serving/commands/command.h"

namespace tessera::serving {

// Each returns a script that completes commands, flags, and values that are files or one of a few
// words. It names everything that the commands' tables have; the shell needs no call of the
// program.
std::string BashCompletion(absl::Span<const Command> commands);
std::string ZshCompletion(absl::Span<const Command> commands);
std::string FishCompletion(absl::Span<const Command> commands);

}  // namespace tessera::serving
