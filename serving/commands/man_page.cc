#include "serving/commands/man_page.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "serving/commands/command_help.h"
#include "serving/server/version.h"

namespace tessera::serving {
namespace {

// Returns text that roff prints as it is. Each line is one of the page, and none is a macro.
std::string Escape(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"},
                                                   {"-", "\\-"},
                                                   {"'", "\\(aq"},
                                                   {"\"", "\\(dq"},
                                                   {"^", "\\(ha"},
                                                   {"~", "\\(ti"},
                                                   {"`", "\\(ga"}});
  if (absl::StartsWith(escaped, ".")) escaped.insert(0, "\\&");
  return absl::StrReplaceAll(escaped, {{"\n.", "\n\\&."}});
}

std::string Paragraphs(absl::string_view text) {
  std::string page;
  for (absl::string_view paragraph : absl::StrSplit(text, "\n\n", absl::SkipEmpty())) {
    if (!page.empty()) absl::StrAppend(&page, ".PP\n");
    if (absl::StartsWith(paragraph, " ")) {
      absl::StrAppend(&page, ".nf\n", Escape(paragraph), "\n.fi\n");
    } else {
      absl::StrAppend(&page, Escape(paragraph), "\n");
    }
  }
  return page;
}

std::string Section(const Command& command) {
  std::string page = absl::StrCat(".SS tessera ", Escape(command.name));
  if (!command.arguments.empty()) absl::StrAppend(&page, " ", Escape(command.arguments));
  absl::StrAppend(&page, "\n", Paragraphs(command.description));
  absl::string_view group;
  for (const FlagParser::Flag& flag : command.flags.flags()) {
    if (flag.group != group) absl::StrAppend(&page, ".PP\n.I ", Escape(flag.group), "\n");
    group = flag.group;
    absl::StrAppend(&page, ".TP\n.B ", Escape(FlagSyntax(flag)), "\n", Escape(FlagHelp(flag)),
                    ".\n");
  }
  return page;
}

}  // namespace

std::string ManPage(absl::Span<const Command> commands) {
  std::string page = absl::StrCat(
      ".TH TESSERA 1 ", kReleaseDate, " \"tessera ", kVersion, "\" \"User Commands\"\n",
      ".SH NAME\ntessera \\- serve and run models that TensorFlow wrote\n",
      ".SH SYNOPSIS\n.B tessera\n.I COMMAND\n.RI [ ARGUMENTS ]\n.RI [ FLAGS ]\n",
      ".SH DESCRIPTION\n",
      "Tessera loads SavedModels and answers requests to them as TensorFlow Serving does.\n"
      "Under the name tensorflow_model_server it serves without a command.\n"
      ".PP\n",
      "A flag is \\-\\-NAME=VALUE, or \\-\\-NAME VALUE for every command but serve.\n"
      "A flag without a value turns something on.\n"
      "\\-\\-help prints the help of a command, \\-\\-help=FLAG that of a flag, \\-\\-version "
      "the version.\n"
      ".SH COMMANDS\n");
  for (const Command& command : commands) {
    absl::StrAppend(&page, Section(command));
  }
  absl::StrAppend(
      &page,
      ".SH EXIT STATUS\n"
      "0 on success, 1 if the work failed, 2 for wrong arguments.\n"
      "tessera serve ends with 0 after SIGTERM or SIGINT, with 255 if it could not start, "
      "and with 3 if \\-\\-check_config found errors.\n"
      ".SH EXAMPLES\n");
  for (const Command& command : commands) {
    for (const auto& [line, text] : command.examples) {
      absl::StrAppend(&page, ".TP\n.B ", Escape(line), "\n", Escape(text), "\n");
    }
  }
  return page;
}

}  // namespace tessera::serving
