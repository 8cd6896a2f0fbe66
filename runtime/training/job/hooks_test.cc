#include <cmath>
#include <filesystem>
#include <limits>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/training/job/checkpoint_hook.h"
#include "runtime/training/job/early_stopping_hook.h"
#include "runtime/training/job/failure.h"
#include "runtime/training/job/logging_hook.h"
#include "runtime/training/job/nan_hook.h"
#include "runtime/training/job/profiler_hook.h"
#include "runtime/training/job/stop_hook.h"
#include "runtime/training/job/watchdog.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

class Records final : public RunObserver {
 public:
  void OnRecord(const RunRecord& record) override { all.push_back(record); }
  std::vector<RunRecord> all;
};

class HooksTest : public ::testing::Test {
 protected:
  HooksTest()
      : folder_(JoinPath(::testing::TempDir(),
                         ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    EXPECT_TRUE(CreateDirectories(folder_).ok());
    log_ = *RunLog::Open(JoinPath(folder_, "log.jsonl"), &records_);
  }

  const std::string folder_;
  Records records_;
  std::unique_ptr<RunLog> log_;
};

TEST_F(HooksTest, CheckpointsAreSavedEverySomeStepsAndAtTheEnd) {
  std::vector<int64_t> saved;
  training::CheckpointHook spec;
  spec.set_every_steps(3);
  std::vector<bool> finished;
  const auto hook = MakeCheckpointHook(spec, {.save =
                                                  [&](int64_t step) {
                                                    saved.push_back(step);
                                                    return absl::OkStatus();
                                                  },
                                              .have_data_moved = [] { return false; },
                                              .finish =
                                                  [&](bool wait) {
                                                    finished.push_back(wait);
                                                    return absl::OkStatus();
                                                  }});
  ASSERT_TRUE(hook->Begin(2).ok());
  for (int64_t step = 3; step <= 7; ++step) ASSERT_TRUE(hook->AfterStep({.step = step}).ok());
  ASSERT_TRUE(hook->End(7).ok());
  ASSERT_TRUE(hook->End(7).ok());
  EXPECT_EQ(saved, (std::vector<int64_t>{3, 6, 7}));
  // Each step asks whether a save has ended, and the end waits.
  EXPECT_EQ(finished, (std::vector<bool>{false, false, false, false, false, true, true}));
}

TEST_F(HooksTest, AResumedRunThatDoesNothingSavesNothing) {
  const auto hook =
      MakeCheckpointHook({}, {.save = [](int64_t) { return absl::InternalError("saved"); },
                              .have_data_moved = [] { return false; },
                              .finish = [](bool) { return absl::OkStatus(); }});
  ASSERT_TRUE(hook->Begin(5).ok());
  EXPECT_TRUE(hook->End(5).ok());
}

TEST_F(HooksTest, AFailedSaveEndsTheRunAtTheNextStep) {
  const auto hook =
      MakeCheckpointHook({}, {.save = [](int64_t) { return absl::OkStatus(); },
                              .have_data_moved = [] { return false; },
                              .finish = [](bool) { return absl::ResourceExhaustedError("disk"); }});
  ASSERT_TRUE(hook->Begin(5).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(hook->AfterStep({.step = 6})));
  EXPECT_TRUE(absl::IsResourceExhausted(hook->End(6)));
}

TEST_F(HooksTest, NanHookNamesStepAndCause) {
  const auto plain = MakeNanHook(nullptr);
  EXPECT_TRUE(plain->AfterStep({.step = 1, .loss = 1e30}).ok());
  const absl::Status infinite =
      plain->AfterStep({.step = 7, .loss = std::numeric_limits<double>::infinity()});
  EXPECT_EQ(FailureOf(infinite), RunFailure::kNotFinite);
  EXPECT_TRUE(absl::StrContains(infinite.message(), "step 7 is infinite; hooks.nan.debug"))
      << infinite;
  const auto debug = MakeNanHook([](const StepResult& result) -> absl::StatusOr<std::string> {
    return "node 'log' of step " + std::to_string(result.step);
  });
  EXPECT_TRUE(absl::StrContains(debug->AfterStep({.step = 8, .loss = NAN}).message(),
                                "NaN; node 'log' of step 8"));
}

TEST_F(HooksTest, EarlyStoppingCountsEvaluationsWithoutABetterValue) {
  training::EarlyStoppingHook spec;
  spec.set_metric("accuracy");
  spec.set_higher_is_better(true);
  spec.set_min_change(0.1);
  spec.set_patience(2);
  RunEnd end;
  const auto hook = MakeEarlyStoppingHook(spec, &end);
  const auto evaluate = [&](double value) {
    return hook->AfterEvaluation({.step = 1, .values = {{"accuracy", value}}}).ok();
  };
  ASSERT_TRUE(evaluate(0.5) && evaluate(0.55) && evaluate(0.65) && evaluate(0.7));
  EXPECT_FALSE(end.is_asked());
  ASSERT_TRUE(evaluate(0.6));
  EXPECT_TRUE(end.is_asked());
  EXPECT_TRUE(end.is_complete());
  EXPECT_FALSE(hook->AfterEvaluation({.step = 1}).ok());
}

TEST_F(HooksTest, EarlyStoppingGetsOverALossThatIsNoNumber) {
  training::EarlyStoppingHook spec;
  spec.set_patience(2);
  RunEnd end;
  const auto hook = MakeEarlyStoppingHook(spec, &end);
  for (const double loss : {std::nan(""), 5.0, 4.0, 3.0, std::nan("")}) {
    ASSERT_TRUE(hook->AfterEvaluation({.step = 1, .values = {{"loss", loss}}}).ok());
    EXPECT_FALSE(end.is_asked());
  }
  ASSERT_TRUE(hook->AfterEvaluation({.step = 1, .values = {{"loss", std::nan("")}}}).ok());
  EXPECT_TRUE(end.is_asked());
}

TEST_F(HooksTest, EarlyStoppingGoesOnWhereTheCheckpointWas) {
  training::EarlyStoppingHook spec;
  spec.set_patience(2);
  RunEnd first_end;
  const auto first = MakeEarlyStoppingHook(spec, &first_end);
  ASSERT_TRUE(first->AfterEvaluation({.step = 1, .values = {{"loss", 1.0}}}).ok());
  ASSERT_TRUE(first->AfterEvaluation({.step = 2, .values = {{"loss", 2.0}}}).ok());
  std::vector<SavedTensor> saved;
  first->Save(&saved);
  auto writer = CheckpointWriter::Create(JoinPath(folder_, "c"));
  ASSERT_TRUE(writer.ok());
  for (const auto& each : saved) ASSERT_TRUE(writer->Add(each.key, each.tensor).ok());
  ASSERT_TRUE(writer->Finish().ok());

  RunEnd end;
  const auto second = MakeEarlyStoppingHook(spec, &end);
  ASSERT_TRUE(second->Restore(**CheckpointReader::Open(JoinPath(folder_, "c"))).ok());
  ASSERT_TRUE(second->Begin(2).ok());
  EXPECT_FALSE(end.is_asked());
  ASSERT_TRUE(second->AfterEvaluation({.step = 3, .values = {{"loss", 1.5}}}).ok());
  EXPECT_TRUE(end.is_asked());

  // What was best of one metric, or of one direction, says nothing of another.
  training::EarlyStoppingHook other_metric = spec, other_direction = spec;
  other_metric.set_metric("accuracy");
  other_direction.set_higher_is_better(true);
  for (const auto& other : {other_metric, other_direction}) {
    RunEnd other_end;
    const auto third = MakeEarlyStoppingHook(other, &other_end);
    ASSERT_TRUE(third->Restore(**CheckpointReader::Open(JoinPath(folder_, "c"))).ok());
    ASSERT_TRUE(
        third->AfterEvaluation({.step = 3, .values = {{"loss", 0.5}, {"accuracy", 0.5}}}).ok());
    EXPECT_FALSE(other_end.is_asked());
  }
}

TEST_F(HooksTest, StopHookEndsAnIncompleteRun) {
  RunEnd end;
  const auto hook = MakeStopHook(absl::ZeroDuration(), &end);
  ASSERT_TRUE(hook->AfterStep({.step = 1}).ok());
  EXPECT_TRUE(end.is_asked());
  EXPECT_FALSE(end.is_complete());
}

TEST_F(HooksTest, LoggingLogsEverySomeStepsAndTheLastOne) {
  training::LoggingHook spec;
  spec.set_every_steps(2);
  const auto hook = MakeLoggingHook(spec, log_.get());
  ASSERT_TRUE(hook->Begin(0).ok());
  for (int64_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(hook->AfterStep({.step = step, .loss = 0.5, .rows = 10}).ok());
  }
  ASSERT_TRUE(hook->End(3).ok());
  ASSERT_EQ(records_.all.size(), 2u);
  EXPECT_EQ(records_.all[0].step, 2);
  EXPECT_EQ(records_.all[1].step, 3);
  EXPECT_EQ(*records_.all[1].Number("loss"), 0.5);
  EXPECT_GT(*records_.all[0].Number("examples_per_second"), 0);
}

TEST_F(HooksTest, ProfilerWritesTheStepsThatItRecorded) {
  training::ProfilerHook spec;
  spec.set_from_step(2);
  spec.set_steps(2);
  Tracer tracer;
  const auto hook = MakeProfilerHook(spec, folder_, &tracer, log_.get());
  for (int64_t step = 1; step <= 4; ++step) {
    ASSERT_TRUE(hook->BeforeStep(step).ok());
    EXPECT_EQ(tracer.Records(TraceLevel::kOps), step == 2 || step == 3) << step;
    if (tracer.Records(TraceLevel::kOps)) {
      const int64_t now = Tracer::Now();
      tracer.Record({.name = "step", .category = "run", .start = now, .end = now + 1});
    }
    ASSERT_TRUE(hook->AfterStep({.step = step}).ok());
  }
  ASSERT_EQ(records_.all.size(), 1u);
  EXPECT_EQ(records_.all[0].Text("path"), JoinPath(folder_, "steps-2-3.json"));
  EXPECT_TRUE(absl::StrContains(*ReadFile(records_.all[0].Text("path")), "\"step\""));
}

TEST(WatchdogTest, FiresOnlyWhenTheLimitIsExceeded) {
  absl::Notification fired;
  Watchdog watchdog(absl::Milliseconds(1), [&] { fired.Notify(); });
  watchdog.Arm();
  fired.WaitForNotification();
  EXPECT_TRUE(watchdog.Disarm());

  Watchdog patient(absl::Hours(1), [] { FAIL(); });
  patient.Arm();
  EXPECT_FALSE(patient.Disarm());
}

}  // namespace
}  // namespace tessera
