// What `--help` prints.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "serving/commands/command.h"

namespace tessera::serving {

// Returns one line: "usage: tessera inspect PATH [FLAGS]".
std::string CommandUsage(const Command& command);

// Returns usage, description, flags with their defaults, and examples.
std::string CommandHelp(const Command& command);

// Returns the list of all commands with their summaries.
std::string ProgramHelp(absl::Span<const Command> commands);

// Returns how a flag is written: "--signature=NAME", "--json".
std::string FlagSyntax(const FlagParser::Flag& flag);

// Returns the help of a flag with its default, if that says something.
std::string FlagHelp(const FlagParser::Flag& flag);

}  // namespace tessera::serving
