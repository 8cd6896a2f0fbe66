#include "runtime/training/job/summary_hook.h"

#include <map>

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/summary/testing/read_events.h"
#include "runtime/training/job/hyper_parameters.h"
#include "tensorboard/plugins/hparams/plugin_data.pb.h"
#include "tensorflow/core/framework/summary.pb.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

using tensorboard::hparams::HParamsPluginData;

training::TrainingJob SomeJob() {
  training::TrainingJob job;
  job.set_batch(32);
  job.set_folder("/somewhere");
  auto* const optimizer = job.mutable_graph()->mutable_optimizer();
  optimizer->set_type("adam");
  optimizer->set_learning_rate(0.5);
  job.mutable_graph()->mutable_schedule()->set_staircase(true);
  job.mutable_graph()->mutable_schedule()->add_boundaries(10);
  return job;
}

TEST(HyperParametersTest, AreTheSettingsByTheirPaths) {
  const std::map<std::string, HyperParameter> expected = {
      {"batch", 32.0},
      {"graph.optimizer.learning_rate", 0.5},
      {"graph.optimizer.type", std::string("adam")},
      {"graph.schedule.staircase", true}};
  EXPECT_EQ(HyperParametersOf(SomeJob()), expected);
  EXPECT_TRUE(HyperParametersOf(training::TrainingJob()).empty());
}

class SummaryHookTest : public ::testing::Test {
 protected:
  // The values that one run writes, by step and tag.
  std::map<std::pair<int64_t, std::string>, tensorflow::Summary::Value> Run(
      int64_t from_step, const training::SummaryHook& spec, SummarySources sources) {
    const std::string folder =
        JoinPath(testing::TempDir(), testing::UnitTest::GetInstance()->current_test_info()->name());
    auto hook = MakeSummaryHook(spec, folder, std::move(sources)).value();
    EXPECT_TRUE(hook->Begin(from_step).ok());
    EXPECT_TRUE(hook->AfterStep({.step = from_step + 1, .loss = 0.25, .rows = 4}).ok());
    EXPECT_TRUE(hook->AfterEvaluation({from_step + 1, {{"accuracy", 0.75}}}).ok());
    EXPECT_TRUE(hook->End(from_step + 1).ok());
    hook = nullptr;
    std::map<std::pair<int64_t, std::string>, tensorflow::Summary::Value> values;
    const std::vector<std::string> files = ListDirectory(folder).value();
    EXPECT_EQ(files.size(), 1);
    for (const tensorflow::Event& event : ReadEvents(JoinPath(folder, files[0]))) {
      for (const auto& value : event.summary().value()) values[{event.step(), value.tag()}] = value;
    }
    return values;
  }
};

TEST_F(SummaryHookTest, WritesScalarsAndHistograms) {
  training::SummaryHook spec;
  spec.set_every_steps(1);
  spec.set_histograms(true);
  SummarySources sources;
  sources.variables = []() -> absl::StatusOr<std::vector<std::pair<std::string, Tensor>>> {
    return std::vector<std::pair<std::string, Tensor>>{{"w", Tensor::Vector<float>({1, 2, 3})},
                                                       {"wide", Tensor::Vector<double>({4, 6})},
                                                       {"step", Tensor::Scalar<int64_t>(1)}};
  };
  const auto values = Run(0, spec, std::move(sources));
  EXPECT_EQ(values.at({1, "loss"}).simple_value(), 0.25f);
  EXPECT_EQ(values.at({1, "eval/accuracy"}).simple_value(), 0.75f);
  EXPECT_EQ(values.at({1, "w"}).histo().num(), 3);
  EXPECT_EQ(values.at({1, "wide"}).histo().sum(), 10);
  EXPECT_FALSE(values.contains({1, "step"}));
}

TEST_F(SummaryHookTest, WritesTheJobAndItsHyperParametersAtTheBeginning) {
  SummarySources sources;
  sources.hyper_parameters = HyperParametersOf(SomeJob());
  sources.job = "batch: 32\n";
  const auto values = Run(0, {}, std::move(sources));
  EXPECT_EQ(values.at({0, "job"}).tensor().string_val(0), "```\nbatch: 32\n```\n");
  HParamsPluginData begin, end;
  ASSERT_TRUE(begin.ParseFromString(
      values.at({0, "_hparams_/session_start_info"}).metadata().plugin_data().content()));
  const auto& hparams = begin.session_start_info().hparams();
  EXPECT_EQ(hparams.size(), 4);
  EXPECT_EQ(hparams.at("graph.optimizer.learning_rate").number_value(), 0.5);
  ASSERT_TRUE(end.ParseFromString(
      values.at({1, "_hparams_/session_end_info"}).metadata().plugin_data().content()));
  EXPECT_EQ(end.session_end_info().status(), tensorboard::hparams::STATUS_SUCCESS);
}

TEST_F(SummaryHookTest, AResumedRunSaysNothingOfTheJobAgain) {
  SummarySources sources;
  sources.job = "batch: 32\n";
  const auto values = Run(7, {}, std::move(sources));
  EXPECT_FALSE(values.contains({0, "job"}));
  EXPECT_FALSE(values.contains({0, "_hparams_/session_start_info"}));
  EXPECT_TRUE(values.contains({8, "_hparams_/session_end_info"}));
}

}  // namespace
}  // namespace tessera
