#include "serving/commands/completion_command.h"

#include <cstdio>
#include <string>

#include "serving/commands/completion_script.h"

namespace tessera::serving {

Command CompletionCommand(std::vector<Command> (*commands)()) {
  Command command{
      .name = "completion",
      .summary = "print a script by which a shell completes command lines",
      .arguments = "bash|zsh|fish",
      .description =
          "Prints a script for the shell. Commands, flags, files and words that a flag "
          "may have are completed.",
      .examples = {{"source <(tessera completion bash)", "In ~/.bashrc; for zsh in ~/.zshrc."},
                   {"tessera completion fish | source", "In ~/.config/fish/config.fish."}},
  };
  command.run = [commands](absl::Span<const std::string> arguments) {
    const std::string& shell = arguments[0];
    const std::string script = shell == "bash"  ? BashCompletion(commands())
                               : shell == "zsh" ? ZshCompletion(commands())
                                                : FishCompletion(commands());
    std::fputs(script.c_str(), stdout);
    return absl::OkStatus();
  };
  return command;
}

}  // namespace tessera::serving
