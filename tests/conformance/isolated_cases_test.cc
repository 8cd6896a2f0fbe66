#include "tests/conformance/isolated_cases.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

TEST(IsolatedCasesTest, ADeadProcessFailsItsCaseAlone) {
  const std::vector<Outcome> outcomes = RunIsolated(3, {.jobs = 1}, [](int i) -> Outcome {
    if (i == 1) std::abort();
    return {};
  });
  EXPECT_EQ(outcomes[0].kind, Outcome::kPassed);
  EXPECT_EQ(outcomes[1].kind, Outcome::kFailed);
  EXPECT_THAT(outcomes[1].text, HasSubstr("crashed: Aborted"));
  EXPECT_EQ(outcomes[2].kind, Outcome::kPassed);
}

TEST(IsolatedCasesTest, WhatAFailedCaseBreaksFailsNoOther) {
  static bool is_broken = false;  // as a GPU after a fault, for the whole process
  const std::vector<Outcome> outcomes = RunIsolated(4, {.jobs = 1}, [](int i) -> Outcome {
    if (is_broken) return {Outcome::kFailed, "broken by an earlier case"};
    is_broken = i == 1;
    return {is_broken ? Outcome::kFailed : Outcome::kPassed, is_broken ? "a fault" : ""};
  });
  EXPECT_EQ(outcomes[0].kind, Outcome::kPassed);
  EXPECT_EQ(outcomes[1].text, "a fault");
  EXPECT_EQ(outcomes[2].kind, Outcome::kPassed) << outcomes[2].text;
  EXPECT_EQ(outcomes[3].kind, Outcome::kPassed) << outcomes[3].text;
}

TEST(IsolatedCasesTest, ACaseThatEndsItsProcessIsNotTriedAgain) {
  const std::vector<Outcome> outcomes =
      RunIsolated(2, {.jobs = 1}, [](int i) -> Outcome { ::_exit(i == 0 ? 75 : 3); });
  EXPECT_EQ(outcomes[0].text, "ended its process with 75");
  EXPECT_EQ(outcomes[1].text, "ended its process with 3");
}

TEST(IsolatedCasesTest, ACaseThatWaitsForEverIsKilled) {
  const Isolation isolation{.jobs = 1, .case_limit = absl::Milliseconds(50)};
  const std::vector<Outcome> outcomes = RunIsolated(2, isolation, [](int i) -> Outcome {
    while (i == 0) ::pause();
    return {};
  });
  EXPECT_EQ(outcomes[0].kind, Outcome::kFailed);
  EXPECT_THAT(outcomes[0].text, HasSubstr("crashed: Alarm clock"));
  EXPECT_EQ(outcomes[1].kind, Outcome::kPassed);
}

TEST(IsolatedCasesTest, TemporaryFilesOfCasesAreRemoved) {
  const std::vector<Outcome> outcomes = RunIsolated(1, {.jobs = 1}, [](int) -> Outcome {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "left";
    std::ofstream(file) << "text";
    return {Outcome::kFailed, std::filesystem::exists(file) ? file.string() : ""};
  });
  ASSERT_THAT(outcomes[0].text, HasSubstr("left"));
  EXPECT_FALSE(std::filesystem::exists(outcomes[0].text));
}

TEST(IsolatedCasesTest, CasesAreSkippedOnceTheTimeIsUp) {
  const std::vector<Outcome> outcomes =
      RunIsolated(2, {.total_limit = absl::ZeroDuration()}, [](int) -> Outcome {
        return {Outcome::kFailed, "was run"};
      });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.kind, Outcome::kSkipped);
    EXPECT_EQ(outcome.text, "not run: the time was up");
  }
}

TEST(IsolatedCasesTest, FlagsSetTheLimits) {
  Isolation isolation;
  EXPECT_TRUE(ParseIsolationFlag("--jobs=8", &isolation));
  EXPECT_TRUE(ParseIsolationFlag("--case_seconds=60", &isolation));
  EXPECT_TRUE(ParseIsolationFlag("--seconds=240", &isolation));
  EXPECT_EQ(isolation.jobs, 8);
  EXPECT_EQ(isolation.case_limit, absl::Seconds(60));
  EXPECT_EQ(isolation.total_limit, absl::Seconds(240));
  for (const char* wrong : {"--jobs=0", "--jobs=x", "--seconds=-1", "--second=1"}) {
    EXPECT_FALSE(ParseIsolationFlag(wrong, &isolation)) << wrong;
  }
}

}  // namespace
}  // namespace tessera
