#include "serving/commands/completion_script.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "serving/commands/command_help.h"

namespace tessera::serving {
namespace {

bool IsPath(absl::string_view name) {
  return absl::StrContains(name, "DIR") || absl::StrContains(name, "FILE") ||
         absl::StrContains(name, "PATH");
}

// Returns the values of a flag that is a choice of words, else nothing.
std::vector<std::string> Choices(const FlagParser::Flag& flag) {
  if (flag.is_switch() || !absl::StrContains(flag.value_name, '|')) return {};
  if (!absl::ascii_islower(flag.value_name[0])) return {};
  return absl::StrSplit(flag.value_name, '|');
}

// Returns the text in single quotes, as bash and zsh read it.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// Returns the text in single quotes, as fish reads it.
std::string FishQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// Returns the text with what ends a description in a specification of zsh's _arguments escaped.
std::string ZshText(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {":", "\\:"}, {"[", "\\["}, {"]", "\\]"}});
}

// Returns the words that may stand where the arguments of a command do.
std::vector<std::string> ArgumentWords(const Command& command) {
  std::vector<std::string> words;
  for (const ArgumentPattern& pattern : ArgumentPatterns(command)) {
    words.insert(words.end(), pattern.choices.begin(), pattern.choices.end());
  }
  return words;
}

bool TakesPath(const Command& command) {
  for (const ArgumentPattern& pattern : ArgumentPatterns(command)) {
    if (IsPath(pattern.name)) return true;
  }
  return false;
}

}  // namespace

std::string BashCompletion(absl::Span<const Command> commands) {
  std::vector<std::string> names = {"help"};
  std::string words;
  std::string values;
  for (const Command& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> flags = {"--help"};
    for (const FlagParser::Flag& flag : command.flags.flags()) {
      flags.push_back(absl::StrCat("--", flag.name, flag.is_switch() ? "" : "="));
      const std::string pattern = absl::StrCat("    ", command.name, ",--", flag.name, ") ");
      if (const auto choices = Choices(flag); !choices.empty()) {
        absl::StrAppend(&values, pattern, "words=", Quoted(absl::StrJoin(choices, " ")), " ;;\n");
      } else if (IsPath(flag.value_name)) {
        absl::StrAppend(&values, pattern, "files=1 ;;\n");
      }
    }
    const std::vector<std::string> arguments = ArgumentWords(command);
    absl::StrAppend(&words, "    ", command.name,
                    ")\n      flags=", Quoted(absl::StrJoin(flags, " ")),
                    "\n      words=", Quoted(absl::StrJoin(arguments, " ")), "\n");
    if (TakesPath(command)) absl::StrAppend(&words, "      files=1\n");
    absl::StrAppend(&words, "      ;;\n");
  }
  const std::string all = absl::StrJoin(names, " ");
  return absl::StrCat(R"(# Completes command lines of tessera in bash:
#   source <(tessera completion bash)
_tessera() {
  local current=${COMP_WORDS[COMP_CWORD]} flag= flags= words= files=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '--help --version )",
                      all, R"(' -- "$current"))
    return
  fi
  # The value of a flag: bash makes three words of --flag=value.
  if [[ $current == '=' ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 1]} current=
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $flag == --* ]]; then
    case ${COMP_WORDS[1]},$flag in
)",
                      values, R"(    esac
  else
    case ${COMP_WORDS[1]} in
    help) words=)",
                      Quoted(all), " ;;\n", words, R"(    esac
    if [[ $current == -* ]]; then
      words=$flags files=
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $files ]]; then
    COMPREPLY+=($(compgen -f -- "$current"))
    compopt -o filenames 2>/dev/null
  fi
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _tessera tessera
)");
}

std::string ZshCompletion(absl::Span<const Command> commands) {
  std::string names = "    'help:tell more of a command'\n";
  std::string cases;
  for (const Command& command : commands) {
    absl::StrAppend(&names, "    ", Quoted(absl::StrCat(command.name, ":", command.summary)), "\n");
    absl::StrAppend(&cases, "    ", command.name, ")\n      _arguments \\\n");
    for (const FlagParser::Flag& flag : command.flags.flags()) {
      std::string spec =
          absl::StrCat("--", flag.name, flag.is_switch() ? "" : "=", "[", ZshText(flag.help), "]");
      if (std::holds_alternative<std::vector<std::string>*>(flag.variable)) spec = "*" + spec;
      if (!flag.is_switch()) {
        const std::string name = flag.value_name.empty() ? "value" : flag.value_name;
        const auto choices = Choices(flag);
        absl::StrAppend(&spec, ":", ZshText(name), ":",
                        !choices.empty() ? absl::StrCat("(", absl::StrJoin(choices, " "), ")")
                        : IsPath(name)   ? "_files"
                                         : "");
      }
      absl::StrAppend(&cases, "        ", Quoted(spec), " \\\n");
    }
    for (const ArgumentPattern& pattern : ArgumentPatterns(command)) {
      const std::string action = !pattern.choices.empty()
                                     ? absl::StrCat("(", absl::StrJoin(pattern.choices, " "), ")")
                                     : (IsPath(pattern.name) ? "_files" : "");
      absl::StrAppend(&cases, "        ",
                      Quoted(absl::StrCat(pattern.is_repeated ? "*" : "", ":",
                                          ZshText(pattern.name), ":", action)),
                      " \\\n");
    }
    absl::StrAppend(&cases, "        '--help[this text]'\n      ;;\n");
  }
  return absl::StrCat(R"(#compdef tessera
# Completes command lines of tessera in zsh:
#   source <(tessera completion zsh)
_tessera() {
  local -a commands=(
)",
                      names, R"(  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    help) _describe command commands ;;
)",
                      cases, R"(  esac
}
compdef _tessera tessera
)");
}

std::string FishCompletion(absl::Span<const Command> commands) {
  std::string script =
      "# Completes command lines of tessera in fish:\n"
      "#   tessera completion fish | source\n"
      "complete -c tessera -f\n"
      "complete -c tessera -n __fish_use_subcommand -l version -d 'print the version'\n"
      "complete -c tessera -n __fish_use_subcommand -a help -d 'tell more of a command'\n";
  std::vector<std::string> names;
  for (const Command& command : commands) {
    names.push_back(command.name);
    absl::StrAppend(&script, "complete -c tessera -n __fish_use_subcommand -a ", command.name,
                    " -d ", FishQuoted(command.summary), "\n");
    const std::string condition =
        absl::StrCat("complete -c tessera -n '__fish_seen_subcommand_from ", command.name, "' ");
    for (const FlagParser::Flag& flag : command.flags.flags()) {
      absl::StrAppend(&script, condition, "-l ", flag.name);
      const auto choices = Choices(flag);
      if (!choices.empty()) {
        absl::StrAppend(&script, " -x -a ", FishQuoted(absl::StrJoin(choices, " ")));
      } else if (!flag.is_switch()) {
        absl::StrAppend(&script, IsPath(flag.value_name) ? " -r -F" : " -x");
      }
      absl::StrAppend(&script, " -d ", FishQuoted(flag.help), "\n");
    }
    for (const std::string& word : ArgumentWords(command)) {
      absl::StrAppend(&script, condition, "-a ", word, "\n");
    }
    if (TakesPath(command)) absl::StrAppend(&script, condition, "-F\n");
  }
  absl::StrAppend(&script, "complete -c tessera -n '__fish_seen_subcommand_from help' -a ",
                  FishQuoted(absl::StrJoin(names, " ")), "\n");
  return script;
}

}  // namespace tessera::serving
