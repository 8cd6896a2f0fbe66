// Whole jobs whose steps run on other devices than the CPU: on the accelerator for tests, and by
// the kernels for GPUs, which the host runs.
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/training/job/prepared_job.h"
#include "runtime/training/job/run_control.h"
#include "runtime/training/job/training_run.h"
#include "serving/commands/digits/digits_job.h"
#include "serving/commands/train_job_file.h"

namespace tessera::serving {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kAccelerator[] = "ACCEL";
constexpr int kSteps = 30;

// Keeps what a run tells, and stops it after a step.
class Records final : public RunObserver {
 public:
  explicit Records(RunControl* control, int64_t last_step)
      : control_(control), last_step_(last_step) {}

  void OnRecord(const RunRecord& record) override {
    if (record.event == "step") losses[record.step] = *record.Number("loss");
    if (record.event == "eval") accuracies[record.step] = *record.Number("accuracy");
    if (record.event == "skip") ++num_skipped;
    if (record.event == "resume") resumed_from = record.step;
    if (record.event == "export") exported = record.Text("path");
    if (record.event == "profile") profile = record.Text("path");
    if (record.event == "step" && record.step == last_step_) control_->Stop();
  }

  std::map<int64_t, double> losses, accuracies;
  int num_skipped = 0;
  int64_t resumed_from = 0;
  std::string exported, profile;

 private:
  RunControl* const control_;
  const int64_t last_step_;
};

// The sample job in a folder of its own.
class Job {
 public:
  explicit Job(const std::string& name, std::vector<std::string> settings = {})
      : folder_(JoinPath(testing::TempDir(), name)), settings_(std::move(settings)) {
    EXPECT_TRUE(WriteDigitsJob(folder_).ok());
    const std::vector<std::string> shared = {"steps=30",
                                             "threads=1",
                                             "eval.every_steps=10",
                                             "hooks.checkpoint.every_steps=10",
                                             "hooks.logging.every_steps=1",
                                             "export.at_least=0.5",
                                             "data.train.shuffle=200"};
    settings_.insert(settings_.begin(), shared.begin(), shared.end());
  }

  const std::string& folder() const { return folder_; }

  absl::StatusOr<PreparedJob> Prepare(const std::string& device) const {
    std::vector<std::string> settings = settings_;
    settings.push_back("device.type=" + device);
    training::TrainingJob job;
    ConfigReport report;
    ReadTrainingJob(JoinPath(folder_, "job.yaml"), settings, &job, &report);
    if (!report.FirstError().ok()) return report.FirstError();
    std::vector<absl::Status> errors;
    return PrepareJob(job, folder_, &errors);
  }

  // Runs the job, or goes on with it, until it is over or has made `last_step`.
  Records Train(const std::string& device, int64_t last_step = 0) const {
    RunControl control;
    Records records(&control, last_step);
    absl::StatusOr<PreparedJob> prepared = Prepare(device);
    EXPECT_TRUE(prepared.ok()) << prepared.status();
    if (!prepared.ok()) return records;
    const absl::Status status = RunTraining(*std::move(prepared), &records, &control);
    EXPECT_TRUE(status.ok()) << status;
    return records;
  }

 private:
  const std::string folder_;
  std::vector<std::string> settings_;
};

void ExpectSameCurve(const Records& run, const Records& expected, double tolerance) {
  ASSERT_EQ(run.losses.size(), expected.losses.size());
  for (const auto& [step, loss] : expected.losses) {
    ASSERT_NEAR(run.losses.at(step), loss, tolerance) << "step " << step;
  }
  ASSERT_EQ(run.accuracies.size(), expected.accuracies.size());
  for (const auto& [step, accuracy] : expected.accuracies) {
    EXPECT_NEAR(run.accuracies.at(step), accuracy, 1.0 / 180) << "step " << step;
  }
}

// Compares the variables of two checkpoints, or of two exported versions.
void ExpectSameVariables(const std::string& prefix, const std::string& expected, double tolerance) {
  const auto reader = CheckpointReader::Open(prefix);
  const auto other = CheckpointReader::Open(expected);
  ASSERT_TRUE(reader.ok() && other.ok()) << reader.status() << other.status();
  int num_compared = 0;
  for (const std::string key : {"hidden/kernel", "hidden/bias", "digit/kernel", "digit/bias"}) {
    const auto value = (*reader)->Read(key), other_value = (*other)->Read(key);
    ASSERT_TRUE(value.ok() && other_value.ok()) << value.status() << other_value.status();
    ASSERT_EQ(value->shape(), other_value->shape());
    for (int64_t i = 0; i < value->num_elements(); ++i) {
      ASSERT_NEAR(value->flat<float>()[i], other_value->flat<float>()[i], tolerance)
          << key << "[" << i << "]";
    }
    ++num_compared;
  }
  EXPECT_EQ(num_compared, 4);
}

class TrainDevicesTest : public testing::TestWithParam<const char*> {
 protected:
  static std::string Folder(const std::string& name) {
    return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + name;
  }
};

TEST_P(TrainDevicesTest, AJobHasTheCurveAndTheVariablesOfTheCpu) {
  const std::vector<std::string> settings = {"hooks.nan.debug=true",
                                             "hooks.profiler={from_step: 5, steps: 2}",
                                             "hooks.summary.histograms=true"};
  const Job on_cpu(Folder("-cpu"), settings), on_device(Folder("-device"), settings);
  const Records expected = on_cpu.Train("cpu");
  ASSERT_EQ(expected.losses.size(), kSteps);
  EXPECT_LT(expected.losses.at(kSteps), expected.losses.at(1) / 2);

  const Records run = on_device.Train(GetParam());
  ExpectSameCurve(run, expected, 1e-4);
  EXPECT_EQ(run.accuracies.size(), 3);
  EXPECT_NE(run.profile, "");
  ASSERT_NE(run.exported, "");
  ExpectSameVariables(JoinPath(run.exported, "variables/variables"),
                      JoinPath(expected.exported, "variables/variables"), 1e-3);
}

TEST_P(TrainDevicesTest, AResumedJobGoesOnAsIfItHadNotStopped) {
  const Job whole(Folder("-whole")), stopped(Folder("-stopped"));
  const Records expected = whole.Train(GetParam());
  EXPECT_EQ(stopped.Train(GetParam(), /*last_step=*/17).losses.size(), 17);
  const Records rest = stopped.Train(GetParam());
  EXPECT_EQ(rest.resumed_from, 17);
  ASSERT_EQ(rest.losses.size(), kSteps - 17);
  for (const auto& [step, loss] : rest.losses) {
    EXPECT_EQ(loss, expected.losses.at(step)) << "step " << step;
  }
  ExpectSameVariables(JoinPath(stopped.folder(), "run/checkpoints/step-30"),
                      JoinPath(whole.folder(), "run/checkpoints/step-30"), 0);
}

TEST_P(TrainDevicesTest, AJobGoesOnOnAnotherDevice) {
  const Job whole(Folder("-whole")), moved(Folder("-moved"));
  const Records expected = whole.Train("cpu");
  moved.Train(GetParam(), /*last_step=*/8);
  moved.Train("cpu", /*last_step=*/20);
  const Records rest = moved.Train(GetParam());
  EXPECT_EQ(rest.resumed_from, 20);
  ASSERT_EQ(rest.losses.size(), kSteps - 20);
  for (const auto& [step, loss] : rest.losses) {
    EXPECT_NEAR(loss, expected.losses.at(step), 1e-4) << "step " << step;
  }
}

TEST_P(TrainDevicesTest, AccumulatesGradientsAndScalesTheLoss) {
  const std::vector<std::string> settings = {"accumulate=3", "loss_scale={initial: 1024}",
                                             "hooks.checkpoint.async=true"};
  const Job on_cpu(Folder("-cpu"), settings), on_device(Folder("-device"), settings);
  ExpectSameCurve(on_device.Train(GetParam()), on_cpu.Train("cpu"), 1e-4);
}

// Gradients times the scale have no finite number of 16 bits until the scale is halved often
// enough.
TEST_P(TrainDevicesTest, SkipsUpdatesWhoseGradientsAreNotFinite) {
  const std::vector<std::string> settings = {"precision=float16", "loss_scale={initial: 1.0e+8}"};
  const Job on_cpu(Folder("-cpu"), settings), on_device(Folder("-device"), settings);
  const Records expected = on_cpu.Train("cpu"), run = on_device.Train(GetParam());
  EXPECT_GT(expected.num_skipped, 0);
  EXPECT_EQ(run.num_skipped, expected.num_skipped);
  ExpectSameCurve(run, expected, 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Devices, TrainDevicesTest, testing::Values(kAccelerator, "EMULATED_GPU"),
                         [](const auto& param) { return std::string(param.param); });

TEST(TrainDeviceTest, StepsRunOnTheAcceleratorFromBatchesThatAreThere) {
  const Job job("on-the-accelerator");
  absl::StatusOr<PreparedJob> prepared = job.Prepare(kAccelerator);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_TRUE(prepared->step->UploadsBatches());
  const int64_t before = TestAccelerator::num_captured_enqueued_anywhere();
  job.Train(kAccelerator);
  // All steps but the first few are work that was captured.
  EXPECT_GT(TestAccelerator::num_captured_enqueued_anywhere() - before, kSteps / 2);
}

TEST(TrainDeviceTest, ThePlanSaysWhichDeviceRunsWhat) {
  const Job job("planned");
  absl::StatusOr<PreparedJob> prepared = job.Prepare("accel");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_THAT(*DescribePlan(*prepared),
              HasSubstr("devices     ACCEL:0 (a test accelerator on a thread of the host) runs "));
  prepared = job.Prepare("cpu");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const std::string plan = *DescribePlan(*prepared);
  EXPECT_THAT(plan, HasSubstr("devices     CPU:0"));
  EXPECT_THAT(plan, Not(HasSubstr("ACCEL")));
}

TEST(TrainDeviceTest, ADeviceThatIsNotThereIsRefused) {
  const Job job("refused");
  EXPECT_THAT(std::string(job.Prepare("gpu").status().message()), HasSubstr("device.type is gpu"));
  EXPECT_THAT(std::string(job.Prepare("tpu").status().message()),
              testing::AllOf(testing::StartsWith("device.type is tpu, but there are no devices"),
                             HasSubstr("auto takes the best of them")));
}

}  // namespace
}  // namespace tessera::serving
