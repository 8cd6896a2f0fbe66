// The recorded trainings with as much as possible on an accelerator for tests, whose work is
// captured from the second step on where the whole step is on it: the curves are those that were
// recorded.
#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/device/testing/test_accelerator.h"
#include "tests/conformance/isolated_cases.h"
#include "tests/conformance/training_case.h"
#include "tests/conformance/training_replay.h"

namespace tessera {
namespace {

constexpr char kDirectory[] = "tests/data/golden/made/training";

TEST(AcceleratorTrainingTest, CurvesAreThoseThatWereRecorded) {
  const std::vector<TrainingCase> cases = FindTrainingCases(kDirectory, {}).value();
  ASSERT_GE(cases.size(), 6);
  // In a process of its own each, since what is wanted of a missing copy is a crash.
  const auto check = [&](int i) -> Outcome {
    ::alarm(240);
    TrainingSession().devices.count["ACCEL"] = 1;
    TrainingSession().inter_op_threads = 2;
    const int64_t before = TestAccelerator::num_captured_enqueued_anywhere();
    const absl::Status status = ReplayTraining(cases[i]);
    if (!status.ok()) return {Outcome::kFailed, status.ToString()};
    return {Outcome::kPassed,
            absl::StrCat(TestAccelerator::num_captured_enqueued_anywhere() - before)};
  };
  const std::vector<Outcome> outcomes =
      RunIsolated(static_cast<int>(cases.size()), {.jobs = 2}, check);
  int captured = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].kind, Outcome::kPassed) << cases[i].name << ": " << outcomes[i].text;
    std::cout << cases[i].name << ": captured work enqueued " << outcomes[i].text << " times\n";
    if (outcomes[i].kind == Outcome::kPassed && outcomes[i].text != "0") ++captured;
  }
  EXPECT_GE(captured, 1);
}

}  // namespace
}  // namespace tessera
