// Replays the trainings that tests/data/record makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/conformance/training_case.h"

namespace tessera {
namespace {

std::vector<TrainingCase> AllCases() {
  return FindTrainingCases("tests/data/golden/made/training", {}).value();
}

class TrainingCasesTest : public testing::TestWithParam<TrainingCase> {};

TEST_P(TrainingCasesTest, TrainsAsTensorFlow) {
  const absl::Status status = ReplayTraining(GetParam());
  EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(All, TrainingCasesTest, testing::ValuesIn(AllCases()),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(TrainingCases, AreThere) { EXPECT_GE(AllCases().size(), 6); }

}  // namespace
}  // namespace tessera
