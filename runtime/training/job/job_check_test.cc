#include "runtime/training/job/job_check.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

constexpr char kGood[] = R"(
  graph { saved_model: "m" }
  data { train { files: "a" } eval { files: "b" } }
  batch: 8
  steps: 100
  eval { every_steps: 10 metrics { type: "accuracy" } })";

// Returns the keys of the findings, separated by spaces, for the good job with `more`.
std::string Keys(const std::string& more) {
  training::TrainingJob job;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(kGood, &job));
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(more, &job)) << more;
  std::string keys;
  for (const JobFinding& finding : CheckJob(job)) keys += (keys.empty() ? "" : " ") + finding.key;
  return keys;
}

TEST(JobCheckTest, AGoodJobHasNoFindings) {
  EXPECT_EQ(Keys(""), "");
  EXPECT_EQ(Keys("hooks { early_stopping { patience: 1 metric: 'accuracy' } }"), "");
  EXPECT_EQ(Keys("export { base_path: 'x' metric: 'accuracy' at_least: 0.9 }"), "");
}

TEST(JobCheckTest, AnEmptyJobLacksGraphAndLength) {
  std::string keys;
  for (const JobFinding& finding : CheckJob(training::TrainingJob())) keys += finding.key + " ";
  EXPECT_EQ(keys, "steps graph ");
}

TEST(JobCheckTest, EachMistakeHasItsKey) {
  const std::pair<const char*, const char*> kBad[] = {
      {"steps: -1", "steps"},
      {"epochs: 2", "epochs"},
      {"threads: -2", "threads"},
      {"threads: 100000", "threads"},
      {"precision: 'half'", "precision"},
      {"accumulate: -1", "accumulate"},
      {"device { memory_fraction: 1.5 }", "device.memory_fraction"},
      {"device { memory_fraction: nan }", "device.memory_fraction"},
      {"device { gpus: -1 }", "device.gpus[0]"},
      {"device { gpus: [1, 0, 1] }", "device.gpus[2]"},
      {"device { type: 'cpu' gpus: 0 allow_growth: true memory_fraction: 1 }",
       "device.gpus device.memory_fraction device.allow_growth"},
      {"accumulate: 1000000", "accumulate"},
      {"loss_scale { initial: 0.5 }", "loss_scale.initial"},
      {"loss_scale { initial: inf }", "loss_scale.initial"},
      {"loss_scale { initial: 1e39 }", "loss_scale.initial"},
      {"loss_scale { initial: nan }", "loss_scale.initial"},
      {"loss_scale { growth_steps: -1 }", "loss_scale.growth_steps"},
      {"loss_scale { growth_steps: 5 fixed: true }", "loss_scale.growth_steps"},
      {"eval { metrics { type: 'accuracy' } }", "eval.metrics[1]"},
      {"eval { metrics { } }", "eval.metrics[1]"},
      {"eval { metrics { type: 'auc' name: 'loss' } }", "eval.metrics[1]"},
      {"eval { metrics { type: 'auc' name: 'step' } }", "eval.metrics[1]"},
      {"eval { metrics { type: 'loss' k: 3 } }", "eval.metrics[1]"},
      {"eval { metrics { type: 'acu' } } export { base_path: 'x' metric: 'auc' at_least: 1 }",
       "eval.metrics[1]"},
      {"hooks { checkpoint { every_steps: 1 every_seconds: 2 } }",
       "hooks.checkpoint.every_seconds"},
      {"hooks { profiler { } }", "hooks.profiler.steps"},
      {"hooks { profiler { steps: 1 from_step: 101 } }", "hooks.profiler.from_step"},
      {"hooks { nan { off: true debug: true } }", "hooks.nan.debug"},
      {"hooks { early_stopping { } }", "hooks.early_stopping.patience"},
      {"hooks { early_stopping { patience: 1 metric: 'auc' } }", "hooks.early_stopping.metric"},
      {"export { }", "export.base_path"},
      {"graph { forward: 'f' } export { base_path: 'x' }", "export.outputs"},
      {"graph { loss { l2: -1 } }", "graph.loss.l2"},
      {"graph { loss { l2: inf } }", "graph.loss.l2"},
      {"graph { optimizer { learning_rate: inf } }", "graph.optimizer.learning_rate"},
      {"export { base_path: 'x' metric: 'loss' at_most: nan }", "export.at_most"},
      {"hooks { early_stopping { patience: 1 min_change: nan } }",
       "hooks.early_stopping.min_change"},
      {"graph { loss { huber_delta: -1 } }", "graph.loss.huber_delta"},
      {"graph { loss { label_smoothing: 1 } }", "graph.loss.label_smoothing"},
      {"export { base_path: 'x' at_least: 1 }", "export.metric"},
      {"export { base_path: 'x' metric: 'accuracy' }", "export.metric"},
      {"export { base_path: 'x' metric: 'auc' at_least: 1 }", "export.metric"},
      {"export { base_path: 'x' metric: 'loss' at_least: 1 at_most: 2 }", "export.at_most"},
  };
  for (const auto& [more, keys] : kBad) EXPECT_EQ(Keys(more), keys) << more;
}

TEST(JobCheckTest, CosineOverEpochsNeedsItsSteps) {
  training::TrainingJob job;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "graph { saved_model: 'm' schedule { type: 'cosine' } } data { train { } } batch: 1 "
      "epochs: 3",
      &job));
  const auto findings = CheckJob(job);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].key, "graph.schedule.decay_steps");
}

}  // namespace
}  // namespace tessera
