// Replays the trainings that tests/data/record makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/training/program/training_program.h"
#include "tests/conformance/training_case.h"

namespace tessera {
namespace {

constexpr char kDirectory[] = "tests/data/golden/made/training";

std::vector<TrainingCase> AllCases() { return FindTrainingCases(kDirectory, {}).value(); }

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

TEST(TrainingCases, AMissingVariableHasTheKeyOfTheModelsOwnCheckpoints) {
  const std::string folder = JoinPath(kDirectory, "gradients_in_loss");
  const auto whole = CheckpointReader::Open(JoinPath(folder, "step25")).value();
  const std::string path = JoinPath(::testing::TempDir(), "lacking");
  CheckpointWriter writer = CheckpointWriter::Create(path).value();
  for (const std::string& name : whole->TensorNames()) {
    if (name == "model/0/0/w") continue;
    ASSERT_TRUE(writer.Add(name, whole->Read(name).value()).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  training::GraphSpec spec;
  spec.set_saved_model("1");
  ProgramOptions options;
  options.base_folder = folder;
  TrainingProgram program = MakeTrainingProgram(spec, options).value();
  ASSERT_TRUE(RestoreState(program, JoinPath(folder, "step25")).ok());
  const absl::Status status = RestoreState(program, path);
  EXPECT_TRUE(absl::StrContains(
      status.message(), "1 of the graph's 4 variables do not fit: 'model/0/0/w' is missing"))
      << status;
  // A variable that the model's signature "restore" does not name need not be there.
  ASSERT_EQ(std::erase_if(program.other_keys,
                          [](const auto& keys) { return keys.second == "model/0/0/w"; }),
            1);
  EXPECT_TRUE(RestoreState(program, path).ok());
}

TEST(TrainingCases, AreThere) { EXPECT_GE(AllCases().size(), 6); }

}  // namespace
}  // namespace tessera
