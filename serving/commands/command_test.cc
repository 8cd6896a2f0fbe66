#include "serving/commands/command.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/commands/command_help.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

// A command with a flag of each kind, whose run notes its arguments and returns `status`.
struct Sample {
  Sample() {
    command.name = "copy";
    command.summary = "copy files";
    command.arguments = "fast|slow FILE [TARGET]";
    command.description = "Copies a file.\n\nDoes so\nat once.";
    command.examples = {{"tessera copy fast a b", "Two files."}};
    command.flags.Add("times", &times, "how often");
    command.flags.Add("share", &share, "how much");
    command.flags.Add("dry", &dry, "only look");
    command.flags.Add("skip", &skip, "files to skip", "NAME");
    command.run = [this](absl::Span<const std::string> args) {
      arguments.assign(args.begin(), args.end());
      return status;
    };
  }
  // The exit code, and what went to stderr.
  std::pair<int, std::string> Execute(std::vector<std::string> args) {
    CaptureStderr();
    const int code = ExecuteCommand(command, args);
    return {code, GetCapturedStderr()};
  }

  int32_t times = 1;
  float share = 0.5;
  bool dry = false;
  std::vector<std::string> skip;
  std::vector<std::string> arguments;
  absl::Status status;
  Command command;
};

TEST(CommandTest, FlagsMayStandAnywhereAndHaveTheirValuesBehindThem) {
  Sample s;
  EXPECT_EQ(s.Execute({"--dry", "fast", "--times", "3", "--skip=a", "x", "--skip", "b"}).first, 0);
  EXPECT_TRUE(s.dry);
  EXPECT_EQ(s.times, 3);
  EXPECT_THAT(s.skip, ElementsAre("a", "b"));
  EXPECT_THAT(s.arguments, ElementsAre("fast", "x"));
}

TEST(CommandTest, WhatFollowsTwoDashesIsNoFlag) {
  Sample s;
  EXPECT_EQ(s.Execute({"fast", "--", "--dry"}).first, 0);
  EXPECT_FALSE(s.dry);
  EXPECT_THAT(s.arguments, ElementsAre("fast", "--dry"));
}

TEST(CommandTest, WrongArgumentsEndWithCodeTwoAndTheUsage) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "fast|slow is missing"},
      {{"fast"}, "FILE is missing"},
      {{"slwo", "x"}, "'slwo' is none of fast, slow; did you mean 'slow'?"},
      {{"fast", "x", "y", "z"}, "unknown argument 'z'"},
      {{"fast", "x", "--tims=3"}, "unknown flag '--tims=3'; did you mean '--times'?"},
      {{"fast", "x", "--server=y"},
       "unknown flag '--server=y'; there are --times, --share, --dry, --skip, --help"},
      {{"fast", "x", "--times"}, "--times lacks its value"},
      {{"fast", "x", "--times=often"}, "Couldn't interpret value often for flag times."},
  };
  for (const auto& [args, message] : cases) {
    Sample s;
    const auto [code, error] = s.Execute(args);
    EXPECT_EQ(code, 2) << message;
    EXPECT_EQ(error, "tessera copy: " + message +
                         "\nusage: tessera copy fast|slow FILE [TARGET] [FLAGS]\n"
                         "`tessera copy --help` tells more.\n");
    EXPECT_TRUE(s.arguments.empty());
  }
}

TEST(CommandTest, FailedWorkEndsWithCodeOneAndItsStatus) {
  Sample s;
  s.status = absl::NotFoundError("no file x");
  EXPECT_EQ(s.Execute({"fast", "x"}),
            std::make_pair(1, std::string("tessera copy: NOT_FOUND: no file x\n")));
  s.status = UsageError("x twice");
  EXPECT_EQ(s.Execute({"fast", "x"}).first, 2);
}

TEST(CommandTest, ACommandMayReadItsCommandLineItself) {
  Sample s;
  s.command.main = [](const std::string& program, absl::Span<const std::string> args) {
    return program == "tessera copy" && args.size() == 2 ? 77 : 0;
  };
  EXPECT_EQ(s.Execute({"--nonsense", "--helpful"}).first, 77);
  CaptureStdout();
  EXPECT_EQ(s.Execute({"--nonsense", "--help"}).first, 0);
  EXPECT_EQ(GetCapturedStdout(), CommandHelp(s.command));
  CaptureStdout();
  EXPECT_EQ(s.Execute({"-h"}).first, 0);
  EXPECT_EQ(GetCapturedStdout(), CommandHelp(s.command));
}

TEST(CommandTest, HelpShowsFlagsWithTheirDefaults) {
  Sample s;
  CaptureStdout();
  EXPECT_EQ(ExecuteCommand(s.command, {"--help"}), 0);
  EXPECT_EQ(GetCapturedStdout(),
            "usage: tessera copy fast|slow FILE [TARGET] [FLAGS]\n"
            "\n"
            "Copies a file.\n"
            "\n"
            "Does so at once.\n"
            "\n"
            "Flags:\n"
            "  --times=N    how often (default: 1)\n"
            "  --share=N    how much (default: 0.5)\n"
            "  --dry        only look\n"
            "  --skip=NAME  files to skip; may be repeated\n"
            "\n"
            "Examples:\n"
            "  # Two files.\n"
            "  tessera copy fast a b\n");
}

TEST(CommandTest, HelpOfAFlagShowsWhatIsKnownOfIt) {
  Sample s;
  s.command.facts = [](const FlagParser::Flag& flag) {
    return std::vector<std::pair<std::string, std::string>>{{"example", "--" + flag.name + "=7"}};
  };
  for (const char* argument : {"--help=times", "--help=--times"}) {
    CaptureStdout();
    EXPECT_EQ(ExecuteCommand(s.command, {argument}), 0);
    EXPECT_EQ(GetCapturedStdout(),
              "--times=N\n\nhow often\n\n"
              "  type     int32\n"
              "  default  1\n"
              "  example  --times=7\n");
  }
  EXPECT_EQ(s.Execute({"--help=tims"}),
            std::make_pair(
                2, std::string("tessera copy: there is no flag 'tims'; did you mean 'times'?\n")));
}

TEST(CommandTest, HelpListsGroupsInColoursIfAsked) {
  Sample s;
  bool other = false;
  s.command.flags.BeginGroup("Others", /*is_extension=*/true);
  s.command.flags.Add("other", &other, "something else");
  const std::string plain = CommandHelp(s.command);
  EXPECT_NE(plain.find("\n\nOthers:\n  --other  something else\n"), plain.npos) << plain;
  const std::string coloured = CommandHelp(s.command, HelpStyle::kColour);
  EXPECT_NE(coloured.find("\033[1mOthers:\033[0m\n  \033[36m--other\033[0m  something else\n"),
            coloured.npos)
      << coloured;
}

TEST(CommandTest, HelpStaysWithinEightyColumns) {
  Sample s;
  bool other = false;
  s.command.flags.Add(
      "a_flag_whose_name_is_as_long_as_any", &other,
      "words and words and words and words and words and words and words and words");
  for (const std::string& help : {CommandHelp(s.command), ProgramHelp({s.command})}) {
    size_t column = 0;
    for (const char c : help) {
      column = c == '\n' ? 0 : column + 1;
      ASSERT_LE(column, 80) << help;
    }
  }
}

TEST(CommandTest, PatternsTellChoicesFromNames) {
  Sample s;
  const std::vector<ArgumentPattern> patterns = ArgumentPatterns(s.command);
  ASSERT_EQ(patterns.size(), 3);
  EXPECT_THAT(patterns[0].choices, ElementsAre("fast", "slow"));
  EXPECT_TRUE(patterns[1].choices.empty());
  EXPECT_FALSE(patterns[1].is_optional);
  EXPECT_EQ(patterns[2].name, "TARGET");
  EXPECT_TRUE(patterns[2].is_optional);
}

}  // namespace
}  // namespace tessera::serving
