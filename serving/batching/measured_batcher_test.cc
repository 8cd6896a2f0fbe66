#include "serving/batching/measured_batcher.h"

#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/batching/testing/half_plus_two_callable.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model on a device whose costs are scripted. Its runs last until they are let go.
class MeasuredBatcherTest : public ::testing::Test {
 protected:
  MeasuredBatcherTest() {
    options_.measures_cost = true;
    options_.max_batch_size = 64;
  }
  ~MeasuredBatcherTest() override { JoinAll(); }

  void Make(int slots) {
    callable_ = std::make_shared<HalfPlusTwoCallable>(
        [this](const RunOptions&, absl::Span<const Tensor>) { return Pass(); });
    batcher_ = std::make_unique<MeasuredBatcher>(slots);
    lane_ = std::make_unique<BatchLane>(callable_, &options_, BatchExecutor::LoneRuns::kUnchanged,
                                        &metrics_);
  }
  // So many milliseconds for a run of so many rows. A run of one row follows.
  void Learn(const std::vector<std::pair<int64_t, int>>& script) {
    for (const auto& [rows, milliseconds] : script) {
      lane_->executor().cost().Record(rows, absl::Milliseconds(milliseconds));
    }
    LetGo(1);
    EXPECT_TRUE(Ask(1).ok());
    num_learned_ = 1;
  }
  absl::Status Pass() {
    absl::MutexLock lock(&mu_);
    ++num_begun_;
    const int own = num_begun_;
    const auto may_end = [this, own]()
                             ABSL_SHARED_LOCKS_REQUIRED(mu_) { return own <= num_let_go_; };
    mu_.Await(absl::Condition(&may_end));
    return absl::OkStatus();
  }
  void LetGo(int count) {
    absl::MutexLock lock(&mu_);
    num_let_go_ += count;
  }
  void AwaitBegun(int count) {
    absl::MutexLock lock(&mu_);
    const auto have = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return num_begun_ >= count + num_learned_;
    };
    mu_.Await(absl::Condition(&have));
  }
  void AwaitWaiting(int count) {
    while (batcher_->num_waiting() < count) absl::SleepFor(absl::Milliseconds(1));
  }
  absl::Status Ask(int64_t rows) {
    Tensor x = *Tensor::Allocate(DType::kFloat, {rows});
    for (float& value : x.flat<float>()) value = 4;
    std::vector<Tensor> fetches;
    const absl::Status status = batcher_->Run(*lane_, rows, {}, {&x, 1}, &fetches);
    if (status.ok()) {
      EXPECT_EQ(fetches[0].num_elements(), rows);
      EXPECT_EQ(fetches[0].flat<float>()[0], 4);
    }
    return status;
  }
  void AskAsync(int64_t rows) {
    threads_.emplace_back([this, rows] { EXPECT_TRUE(Ask(rows).ok()); });
  }
  void JoinAll() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // The rows of the runs after Learn().
  std::vector<int64_t> Runs() const {
    std::vector<int64_t> rows = callable_->run_rows();
    rows.erase(rows.begin(), rows.begin() + num_learned_);
    return rows;
  }

  BatchingOptions options_;
  MetricsRegistry registry_;
  BatchMetrics all_metrics_{&registry_};
  VersionBatchMetrics metrics_{{"m", 1}, &all_metrics_};
  std::shared_ptr<HalfPlusTwoCallable> callable_;
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<BatchLane> lane_;
  int num_learned_ = 0;
  absl::Mutex mu_;
  int num_begun_ ABSL_GUARDED_BY(mu_) = 0;
  int num_let_go_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<std::thread> threads_;
};

TEST_F(MeasuredBatcherTest, WhoComesDuringARunJoinsTheOthersWhereRowsCostNothing) {
  Make(/*slots=*/4);
  Learn({{1, 20}, {2, 20}, {4, 20}});
  AskAsync(1);
  AwaitBegun(1);
  for (int i = 0; i < 3; ++i) AskAsync(1);
  AwaitWaiting(3);  // although three slots are free
  LetGo(1);
  AwaitBegun(2);
  LetGo(1);
  JoinAll();
  EXPECT_THAT(Runs(), ElementsAre(1, 3));
}

TEST_F(MeasuredBatcherTest, NobodyWaitsWhereEachRowCostsTheSame) {
  Make(/*slots=*/2);
  Learn({{1, 10}, {2, 20}, {4, 40}});
  AskAsync(1);
  AwaitBegun(1);
  AskAsync(1);
  AwaitBegun(2);  // beside the first, in the second slot
  AskAsync(1);
  AwaitWaiting(1);  // there is no third
  LetGo(3);
  JoinAll();
  EXPECT_THAT(Runs(), ElementsAre(1, 1, 1));
}

TEST_F(MeasuredBatcherTest, NobodyWaitsBeforeCostsAreKnown) {
  Make(/*slots=*/2);
  AskAsync(1);
  AwaitBegun(1);
  AskAsync(1);
  AwaitBegun(2);
  LetGo(2);
  JoinAll();
  EXPECT_THAT(Runs(), ElementsAre(1, 1));
}

TEST_F(MeasuredBatcherTest, BatchesGrowToTheSizeThatKeepsTheDeviceBusy) {
  Make(/*slots=*/1);
  // Twice the rows cost nothing up to 4, and much beyond.
  Learn({{1, 20}, {2, 20}, {4, 20}, {8, 200}});
  EXPECT_THAT(
      registry_.RenderMetrics(),
      HasSubstr(":tessera:serving:preferred_batch_size{model_name=\"m\",version=\"1\"} 4\n"));
  AskAsync(1);
  AwaitBegun(1);
  for (int i = 0; i < 7; ++i) AskAsync(1);
  AwaitWaiting(7);
  LetGo(3);
  JoinAll();
  EXPECT_THAT(Runs(), ElementsAre(1, 4, 3));
}

}  // namespace
}  // namespace tessera::serving
