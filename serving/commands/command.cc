#include "serving/commands/command.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/nearest_name.h"
#include "serving/commands/command_help.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kUsagePayload = "tessera/usage";
constexpr absl::string_view kExitCodePayload = "tessera/exit_code";

int ExitCodeOf(const absl::Status& error) {
  const auto payload = error.GetPayload(kExitCodePayload);
  int exit_code;
  return payload && absl::SimpleAtoi(std::string(*payload), &exit_code) ? exit_code : 1;
}

// Checks the number of arguments, and those that are choices.
absl::Status CheckArguments(const Command& command, absl::Span<const std::string> arguments) {
  size_t next = 0;
  for (const ArgumentPattern& pattern : ArgumentPatterns(command)) {
    if (next == arguments.size()) {
      if (pattern.is_optional) break;
      return UsageError(absl::StrCat(pattern.name, " is missing"));
    }
    const std::string& argument = arguments[next];
    const auto& choices = pattern.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), argument) == choices.end()) {
      return UsageError(absl::StrCat("'", argument, "' is none of ", absl::StrJoin(choices, ", "),
                                     DidYouMean(argument, choices)));
    }
    next = pattern.is_repeated ? arguments.size() : next + 1;
  }
  if (next == arguments.size()) return absl::OkStatus();
  return UsageError(absl::StrCat("unknown argument '", arguments[next], "'"));
}

absl::Status UnknownFlag(const Command& command, absl::string_view arg) {
  std::vector<std::string> names = command.flags.names();
  names.push_back("help");
  const std::string flags = absl::StrCat("--", absl::StrJoin(names, ", --"));
  const absl::string_view flag = arg.substr(0, arg.find('='));
  // Without dashes, which would make any two names more alike.
  const bool is_like_one = !DidYouMean(absl::StripPrefix(flag, "--"), names).empty();
  const std::string hint = is_like_one ? DidYouMean(flag, absl::StrSplit(flags, ", "))
                                       : absl::StrCat("; there are ", flags);
  return UsageError(absl::StrCat("unknown flag '", arg, "'", hint));
}

// Sets the flags and returns what remains.
absl::Status SetFlags(Command& command, absl::Span<const std::string> args,
                      std::vector<std::string>* arguments) {
  command.flags.AllowSeparateValues();
  if (absl::Status status = command.flags.Parse(args); !status.ok()) {
    return UsageError(status.message());
  }
  for (auto it = command.flags.unknown().begin(); it != command.flags.unknown().end(); ++it) {
    if (*it == "--") {
      arguments->insert(arguments->end(), it + 1, command.flags.unknown().end());
      break;
    }
    if (absl::StartsWith(*it, "--")) return UnknownFlag(command, *it);
    arguments->push_back(*it);
  }
  return CheckArguments(command, *arguments);
}

}  // namespace

std::vector<ArgumentPattern> ArgumentPatterns(const Command& command) {
  std::vector<ArgumentPattern> patterns;
  for (absl::string_view word : absl::StrSplit(command.arguments, ' ', absl::SkipEmpty())) {
    ArgumentPattern pattern;
    pattern.is_repeated = absl::ConsumeSuffix(&word, "...");
    pattern.is_optional = absl::ConsumePrefix(&word, "[") && absl::ConsumeSuffix(&word, "]");
    pattern.name = std::string(word);
    if (!word.empty() && absl::ascii_islower(word[0])) pattern.choices = absl::StrSplit(word, '|');
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

absl::Status WithExitCode(const absl::Status& status, int exit_code) {
  if (status.ok()) return status;
  absl::Status with = status;
  with.SetPayload(kExitCodePayload, absl::Cord(absl::StrCat(exit_code)));
  return with;
}

int PrintHelp(const Command& command, absl::string_view flag) {
  const HelpStyle style = StyleOf(stdout);
  if (flag.empty()) {
    std::fputs(CommandHelp(command, style).c_str(), stdout);
    return 0;
  }
  absl::ConsumePrefix(&flag, "--");
  const FlagParser::Flag* found = command.flags.Find(flag);
  if (found == nullptr) {
    std::fprintf(stderr, "tessera %s: there is no flag '%s'%s\n", command.name.c_str(),
                 std::string(flag).c_str(), DidYouMean(flag, command.flags.names()).c_str());
    return 2;
  }
  std::fputs(FlagPage(command, *found, style).c_str(), stdout);
  return 0;
}

int ExecuteCommand(Command& command, absl::Span<const std::string> args) {
  for (const std::string& arg : args) {
    absl::string_view topic = arg;
    if (topic == "--") break;
    if (topic == "-h") return PrintHelp(command, "");
    if (!absl::ConsumePrefix(&topic, "--help")) continue;
    if (topic.empty() || absl::ConsumePrefix(&topic, "=")) return PrintHelp(command, topic);
  }
  if (command.main) return command.main(absl::StrCat("tessera ", command.name), args);
  std::vector<std::string> arguments;
  absl::Status status = SetFlags(command, args, &arguments);
  if (status.ok()) status = command.run(arguments);
  if (status.ok()) return 0;
  std::fflush(stdout);
  if (!status.GetPayload(kUsagePayload)) {
    // Names and texts of a user's files may hold zero bytes.
    const std::string text =
        absl::StrCat("tessera ", command.name, ": ",
                     status.ToString(absl::StatusToStringMode::kWithNoExtraData), "\n");
    std::fwrite(text.data(), 1, text.size(), stderr);
    return ExitCodeOf(status);
  }
  std::fprintf(stderr, "tessera %s: %s\n%s`tessera %s --help` tells more.\n", command.name.c_str(),
               std::string(status.message()).c_str(), CommandUsage(command).c_str(),
               command.name.c_str());
  return 2;
}

}  // namespace tessera::serving
