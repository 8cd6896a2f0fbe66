#include "serving/commands/man_command.h"

#include <cstdio>

#include "serving/commands/man_page.h"

namespace tessera::serving {

Command ManCommand(std::vector<Command> (*commands)()) {
  Command command{
      .name = "man",
      .summary = "print the manual page, with all commands and flags",
      .description = "Prints the manual page tessera(1) in the macros of man(7).",
      .examples = {{"tessera man | man -l -", "Reads it."},
                   {"tessera man >/usr/local/share/man/man1/tessera.1", "Installs it."}},
  };
  command.run = [commands](absl::Span<const std::string>) {
    std::fputs(ManPage(commands()).c_str(), stdout);
    return absl::OkStatus();
  };
  return command;
}

}  // namespace tessera::serving
