// Command: one command of the program, as the command line, help, shell completion and the man page
// know it. Nothing else describes a command, so that these agree.
//
//   Command InspectCommand() {
//     auto options = std::make_shared<InspectOptions>();
//     Command command{.name = "inspect",
//                     .summary = "show what is in a SavedModel",
//                     .arguments = "PATH",
//                     .description = "Prints signatures, ops and variables."};
//     command.flags.Add("ops", &options->list_ops, "list every op");
//     command.run = [options](absl::Span<const std::string> arguments) {
//       return PrintInspection(arguments[0], *options);
//     };
//     return command;
//   }
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serving/server/flag_parser.h"

namespace tessera::serving {

// A plain value: copies share the variables of the flags, which `run` owns.
struct Command {
  std::string name;     // "inspect"
  std::string summary;  // one line without a full stop
  // The arguments beside flags: "predict|status MODEL [FILE]...". A word in capitals stands for
  // what the user writes, a|b for a choice of words; [X] may be left out and X... repeated.
  std::string arguments;
  // Whole sentences; paragraphs are separated by an empty line. Lines that begin with a space are
  // shown as they are.
  std::string description;
  // Command lines that work, with what each one does: {"tessera inspect DIR", "..."}.
  std::vector<std::pair<std::string, std::string>> examples;
  FlagParser flags;
  // Returns what `--help=FLAG` tells beyond type and default, as a title and its text each:
  // {"example", "--port=8500"}. May be empty.
  std::function<std::vector<std::pair<std::string, std::string>>(const FlagParser::Flag&)> facts;
  // Does the work once the flags are set; `arguments` fit the pattern above. Output goes to stdout.
  // Errors: UsageError() for arguments that make no sense; any other status if the work failed.
  std::function<absl::Status(absl::Span<const std::string> arguments)> run;
  // Takes the place of `run` in a command that reads its command line, but for --help, by rules of
  // its own.
  // `program` is the name that usage shows. Returns the exit code.
  std::function<int(const std::string& program, absl::Span<const std::string> args)> main;
};

// One word of Command::arguments.
struct ArgumentPattern {
  std::string name;                  // "MODEL", "predict|status"
  std::vector<std::string> choices;  // empty unless the word is a choice of words
  bool is_optional = false;
  bool is_repeated = false;
};
std::vector<ArgumentPattern> ArgumentPatterns(const Command& command);

// Returns an error after which the program points to the usage and ends with exit code 2.
absl::Status UsageError(absl::string_view message);

// Returns an error after which the program ends with this exit code. An OK status stays OK.
absl::Status WithExitCode(const absl::Status& status, int exit_code);

// Prints the help of a command, or of one of its flags if `flag` is not empty, to stdout. Returns
// the exit code: 0, or 2 if there is no such flag.
int PrintHelp(const Command& command, absl::string_view flag);

// Runs a command with the arguments after its name: prints its help if asked by `--help` or
// `--help=FLAG`, sets its flags, which
// may stand anywhere and have their values behind them, and calls it. Errors go to stderr. Returns
// the exit code: 0; 1 if the work failed; 2 for wrong arguments; that of WithExitCode(); or what
// `main` returned.
int ExecuteCommand(Command& command, absl::Span<const std::string> args);

}  // namespace tessera::serving
