#include "serving/commands/command_help.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tessera::serving {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kMaxSyntaxWidth = 26;

// Returns `text` in lines of at most kWidth columns. The first line begins at column `begin` of a
// line that stands already, the others are indented by `indent`.
std::string Wrap(absl::string_view text, size_t begin, size_t indent) {
  std::string lines;
  size_t column = begin;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      absl::StrAppend(&lines, "\n", std::string(indent, ' '));
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    absl::StrAppend(&lines, word);
    column += word.size();
  }
  return lines + "\n";
}

std::string Coloured(HelpStyle style, absl::string_view code, absl::string_view text) {
  if (style == HelpStyle::kPlain) return std::string(text);
  return absl::StrCat("\033[", code, "m", text, "\033[0m");
}

std::string Heading(HelpStyle style, absl::string_view text) { return Coloured(style, "1", text); }
std::string Term(HelpStyle style, absl::string_view text) { return Coloured(style, "36", text); }

// Returns a list of terms with their explanations beside them.
std::string DefinitionList(const std::vector<std::pair<std::string, std::string>>& items,
                           HelpStyle style = HelpStyle::kPlain) {
  size_t width = 0;
  for (const auto& [term, text] : items) {
    if (term.size() <= kMaxSyntaxWidth) width = std::max(width, term.size());
  }
  const size_t indent = width + 4;
  std::string list;
  for (const auto& [term, text] : items) {
    absl::StrAppend(&list, "  ", Term(style, term));
    list += term.size() > width ? absl::StrCat("\n", std::string(indent, ' '))
                                : std::string(indent - 2 - term.size(), ' ');
    list += Wrap(text, indent, indent);
  }
  return list;
}

std::string Paragraphs(absl::string_view text) {
  std::string result;
  for (absl::string_view paragraph : absl::StrSplit(text, "\n\n")) {
    absl::StrAppend(&result, "\n");
    if (absl::StartsWith(paragraph, " ")) {
      absl::StrAppend(&result, paragraph, "\n");
    } else {
      result += Wrap(absl::StrReplaceAll(paragraph, {{"\n", " "}}), 0, 0);
    }
  }
  return result;
}

// Returns the default without the quotes of a string and the trailing zeros of a number.
std::string DefaultText(const FlagParser::Flag& flag) {
  absl::string_view text = flag.default_value;
  if (absl::ConsumePrefix(&text, "\"")) absl::ConsumeSuffix(&text, "\"");
  // "0.500000" is 0.5.
  if (std::holds_alternative<float*>(flag.variable)) {
    while (absl::ConsumeSuffix(&text, "0")) {
    }
    absl::ConsumeSuffix(&text, ".");
  }
  return std::string(text);
}

}  // namespace

std::string CommandUsage(const Command& command) {
  std::string usage = absl::StrCat("usage: tessera ", command.name);
  if (!command.arguments.empty()) absl::StrAppend(&usage, " ", command.arguments);
  if (!command.flags.flags().empty()) absl::StrAppend(&usage, " [FLAGS]");
  return usage + "\n";
}

std::string FlagSyntax(const FlagParser::Flag& flag) {
  if (flag.is_switch()) return "--" + flag.name;
  std::string value = flag.value_name;
  if (value.empty()) {
    const bool is_text = std::holds_alternative<std::string*>(flag.variable) ||
                         std::holds_alternative<std::vector<std::string>*>(flag.variable);
    value = is_text ? "TEXT" : "N";
  }
  return absl::StrCat("--", flag.name, "=", value);
}

std::string FlagHelp(const FlagParser::Flag& flag) {
  if (std::holds_alternative<std::vector<std::string>*>(flag.variable)) {
    return flag.help + "; may be repeated";
  }
  const std::string text = DefaultText(flag);
  if (text.empty() || text == "false") return flag.help;
  return absl::StrCat(flag.help, " (default: ", text, ")");
}

HelpStyle StyleOf(FILE* stream) {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool is_plain = (no_color != nullptr && *no_color != '\0') ||
                        (terminal != nullptr && absl::string_view(terminal) == "dumb");
  return is_plain || !isatty(fileno(stream)) ? HelpStyle::kPlain : HelpStyle::kColour;
}

std::string CommandHelp(const Command& command, HelpStyle style) {
  std::string help = CommandUsage(command) + Paragraphs(command.description);
  const std::vector<FlagParser::Flag>& flags = command.flags.flags();
  for (auto flag = flags.begin(); flag != flags.end();) {
    const std::string& group = flag->group;
    std::vector<std::pair<std::string, std::string>> items;
    for (; flag != flags.end() && flag->group == group; ++flag) {
      items.emplace_back(FlagSyntax(*flag), FlagHelp(*flag));
    }
    absl::StrAppend(&help, "\n", Heading(style, absl::StrCat(group.empty() ? "Flags" : group, ":")),
                    "\n", DefinitionList(items, style));
  }
  if (!command.examples.empty()) absl::StrAppend(&help, "\n", Heading(style, "Examples:"), "\n");
  for (const auto& [line, text] : command.examples) {
    absl::StrAppend(&help, "  # ", text, "\n  ", line, "\n");
  }
  return help;
}

std::string FlagPage(const Command& command, const FlagParser::Flag& flag, HelpStyle style) {
  const std::string value = DefaultText(flag);
  std::vector<std::pair<std::string, std::string>> items = {
      {"type", flag.type()}, {"default", value.empty() ? "none" : value}};
  if (command.facts) {
    for (auto& fact : command.facts(flag)) items.push_back(std::move(fact));
  }
  return absl::StrCat(Heading(style, FlagSyntax(flag)), "\n\n", Wrap(flag.help, 0, 0), "\n",
                      DefinitionList(items, style));
}

std::string ProgramHelp(absl::Span<const Command> commands) {
  std::vector<std::pair<std::string, std::string>> summaries;
  for (const Command& command : commands) summaries.emplace_back(command.name, command.summary);
  return absl::StrCat(
      "usage: tessera COMMAND [ARGUMENTS] [FLAGS]\n\n", DefinitionList(summaries),
      "\n`tessera help COMMAND` tells more, `tessera --version` the version. Under the\n"
      "name tensorflow_model_server the program serves without a command.\n");
}

}  // namespace tessera::serving
