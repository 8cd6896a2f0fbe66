#include "serving/commands/command_help.h"

#include <algorithm>

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

// Returns a list of terms with their explanations beside them.
std::string DefinitionList(const std::vector<std::pair<std::string, std::string>>& items) {
  size_t width = 0;
  for (const auto& [term, text] : items) {
    if (term.size() <= kMaxSyntaxWidth) width = std::max(width, term.size());
  }
  const size_t indent = width + 4;
  std::string list;
  for (const auto& [term, text] : items) {
    absl::StrAppend(&list, "  ", term);
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
  absl::string_view text = flag.default_value;
  if (absl::ConsumePrefix(&text, "\"")) absl::ConsumeSuffix(&text, "\"");
  // "0.500000" is 0.5.
  if (std::holds_alternative<float*>(flag.variable)) {
    while (absl::ConsumeSuffix(&text, "0")) {
    }
    absl::ConsumeSuffix(&text, ".");
  }
  if (text.empty() || text == "false") return flag.help;
  return absl::StrCat(flag.help, " (default: ", text, ")");
}

std::string CommandHelp(const Command& command) {
  std::string help = CommandUsage(command) + Paragraphs(command.description);
  std::vector<std::pair<std::string, std::string>> flags;
  for (const FlagParser::Flag& flag : command.flags.flags()) {
    flags.emplace_back(FlagSyntax(flag), FlagHelp(flag));
  }
  if (!flags.empty()) absl::StrAppend(&help, "\nFlags:\n", DefinitionList(flags));
  if (!command.examples.empty()) absl::StrAppend(&help, "\nExamples:\n");
  for (const auto& [line, text] : command.examples) {
    absl::StrAppend(&help, "  # ", text, "\n  ", line, "\n");
  }
  return help;
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
