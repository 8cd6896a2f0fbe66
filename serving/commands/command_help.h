// The text that `--help` prints.
#pragma once

#include <cstdio>
#include <string>

#include "absl/types/span.h"
#include "serving/commands/command.h"

namespace tessera::serving {

// Returns one line: "usage: tessera inspect PATH [FLAGS]".
std::string CommandUsage(const Command& command);

enum class HelpStyle {
  kPlain,
  kColour,  // with the escape sequences of terminals
};

// Returns kColour if the stream is a terminal that shows colours, unless the environment variable
// NO_COLOR is set (https://no-color.org).
HelpStyle StyleOf(FILE* stream);

// Returns usage, description, flags in their groups with their defaults, and examples.
std::string CommandHelp(const Command& command, HelpStyle style = HelpStyle::kPlain);

// Returns all there is to say of one flag: help, type, default and Command::facts.
std::string FlagPage(const Command& command, const FlagParser::Flag& flag,
                     HelpStyle style = HelpStyle::kPlain);

// Returns the list of all commands with their summaries.
std::string ProgramHelp(absl::Span<const Command> commands);

// Returns how a flag is written: "--signature=NAME", "--json".
std::string FlagSyntax(const FlagParser::Flag& flag);

// Returns the help of a flag with its default, if that says something.
std::string FlagHelp(const FlagParser::Flag& flag);

}  // namespace tessera::serving
