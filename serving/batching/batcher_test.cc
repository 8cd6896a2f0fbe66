#include "serving/batching/batcher.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/cancellation.h"
#include "serving/batching/adaptive_batcher.h"
#include "serving/batching/pooled_batcher.h"
#include "serving/batching/testing/half_plus_two_callable.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Longer than any test waits.
constexpr absl::Duration kForever = absl::Hours(1);

// Holds runs back until it is opened.
class Gate {
 public:
  absl::Status Pass() {
    absl::MutexLock lock(&mu_);
    ++arrived_;
    mu_.Await(absl::Condition(&open_));
    return absl::OkStatus();
  }
  void AwaitArrivals(int count) {
    absl::MutexLock lock(&mu_);
    auto arrived = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return arrived_ >= count; };
    mu_.Await(absl::Condition(&arrived));
  }
  void Open() {
    absl::MutexLock lock(&mu_);
    open_ = true;
  }

 private:
  absl::Mutex mu_;
  int arrived_ ABSL_GUARDED_BY(mu_) = 0;
  bool open_ ABSL_GUARDED_BY(mu_) = false;
};

class BatcherTest : public ::testing::Test {
 protected:
  ~BatcherTest() override { JoinAll(); }

  void MakeLane(BatchExecutor::LoneRuns lone_runs) {
    lane_ = std::make_unique<BatchLane>(callable_, &options_, lone_runs, &metrics_);
  }
  void UsePool(int threads) {
    batcher_ = std::make_unique<PooledBatcher>(PooledBatcher::Options{.num_threads = threads});
    MakeLane(BatchExecutor::LoneRuns::kLikeMerged);
  }
  void UseSlots(int slots) {
    batcher_ = std::make_unique<AdaptiveBatcher>(slots);
    MakeLane(BatchExecutor::LoneRuns::kUnchanged);
  }
  void UseGate() {
    callable_ = std::make_shared<HalfPlusTwoCallable>(
        [this](const RunOptions&, absl::Span<const Tensor>) { return gate_.Pass(); });
  }

  // One request with these values; checks the answer.
  absl::Status Ask(std::vector<float> values, const RunOptions& options = {}) {
    const Tensor x = Tensor::Vector<float>(absl::MakeConstSpan(values));
    std::vector<Tensor> fetches;
    absl::Status status =
        batcher_->Run(*lane_, static_cast<int64_t>(values.size()), options, {&x, 1}, &fetches);
    if (status.ok()) {
      for (float& value : values) value = value / 2 + 2;
      EXPECT_THAT(fetches[0].flat<float>(), ::testing::ElementsAreArray(values));
    }
    return status;
  }
  // The same on a thread of its own; its status is added to statuses_.
  void AskAsync(std::vector<float> values, RunOptions options = {}) {
    threads_.emplace_back([this, values = std::move(values), options] {
      absl::Status status = Ask(values, options);
      absl::MutexLock lock(&mu_);
      statuses_.push_back(std::move(status));
    });
  }
  void AwaitWaiting(int count) {
    while (batcher_->num_waiting() < count) absl::SleepFor(absl::Milliseconds(1));
  }
  void JoinAll() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::vector<absl::StatusCode> Codes() {
    absl::MutexLock lock(&mu_);
    std::vector<absl::StatusCode> codes;
    for (const absl::Status& status : statuses_) codes.push_back(status.code());
    std::sort(codes.begin(), codes.end());
    return codes;
  }
  int64_t AllOk() {
    const std::vector<absl::StatusCode> codes = Codes();
    return std::count(codes.begin(), codes.end(), absl::StatusCode::kOk);
  }

  BatchingOptions options_;
  Gate gate_;
  std::shared_ptr<HalfPlusTwoCallable> callable_ = std::make_shared<HalfPlusTwoCallable>();
  MetricsRegistry registry_;
  BatchMetrics all_metrics_{&registry_};
  VersionBatchMetrics metrics_{{"m", 1}, &all_metrics_};
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<BatchLane> lane_;

 private:
  absl::Mutex mu_;
  std::vector<absl::Status> statuses_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

// ---- threads of their own ----

TEST_F(BatcherTest, PoolRunsALoneRequest) {
  UsePool(1);
  EXPECT_TRUE(Ask({2, 4}).ok());
  EXPECT_TRUE(batcher_->MayWait());
}

TEST_F(BatcherTest, PoolMergesWhatComesBeforeTheTimeout) {
  options_ = {.max_batch_size = 3, .batch_timeout = kForever};
  UsePool(2);
  AskAsync({1});
  AskAsync({2});
  AskAsync({3});
  JoinAll();
  EXPECT_EQ(AllOk(), 3);
  EXPECT_THAT(callable_->run_rows(), ElementsAre(3));
}

TEST_F(BatcherTest, PoolRunsAnOpenBatchWhenItsTimeIsUp) {
  options_ = {.max_batch_size = 100, .batch_timeout = absl::Milliseconds(20)};
  UsePool(1);
  EXPECT_TRUE(Ask({2}).ok());
  EXPECT_THAT(callable_->run_rows(), ElementsAre(1));
}

TEST_F(BatcherTest, PoolMergesWhatWaitsForABusyThread) {
  options_ = {.max_batch_size = 8};
  UseGate();
  UsePool(1);
  AskAsync({1});
  gate_.AwaitArrivals(1);
  AskAsync({2});
  AskAsync({3, 4});
  AwaitWaiting(2);
  gate_.Open();
  JoinAll();
  EXPECT_EQ(AllOk(), 3);
  EXPECT_THAT(callable_->run_rows(), ElementsAre(1, 3));
}

TEST_F(BatcherTest, PoolRunsAsManyBatchesAtOnceAsItHasThreads) {
  options_ = {.max_batch_size = 1, .max_enqueued_batches = 2};
  UseGate();
  UsePool(1);
  AskAsync({1});
  gate_.AwaitArrivals(1);
  AskAsync({2});
  AskAsync({3});
  AwaitWaiting(2);
  EXPECT_EQ(Ask({4}).code(), absl::StatusCode::kUnavailable);
  gate_.Open();
  JoinAll();
  EXPECT_EQ(AllOk(), 3);
}

TEST_F(BatcherTest, MetricsOfTheVersionTellWhatWaitsAndWhatWasRefused) {
  options_ = {.max_batch_size = 8, .max_enqueued_batches = 1};
  UseGate();
  UsePool(1);
  const auto page_has = [this](absl::string_view metric, absl::string_view value) {
    EXPECT_THAT(registry_.RenderMetrics(),
                ::testing::HasSubstr(absl::StrCat("\n:tessera:serving:", metric,
                                                  "{model_name=\"m\",version=\"1\"} ", value)));
  };
  page_has("queue_length", "0\n");
  AskAsync({1});
  gate_.AwaitArrivals(1);
  absl::Duration queued = absl::ZeroDuration();
  AskAsync({2, 3}, {.queued = &queued});
  CancellationManager cancellation;
  AskAsync({4}, {.cancellation = &cancellation});
  AwaitWaiting(2);
  page_has("queue_length", "2\n");
  EXPECT_EQ(Ask({1, 2, 3, 4, 5, 6, 7, 8}).code(), absl::StatusCode::kUnavailable);
  page_has("queue_rejections", "1\n");
  page_has("queue_length", "2\n");
  cancellation.Cancel();
  while (batcher_->num_waiting() > 1) absl::SleepFor(absl::Milliseconds(1));
  page_has("queue_length", "1\n");
  EXPECT_EQ(queued, absl::ZeroDuration()) << "not yet known";
  gate_.Open();
  JoinAll();
  page_has("queue_length", "0\n");
  page_has("batch_size_count", "2\n");
  page_has("batch_size_sum", "3\n");
  EXPECT_GT(queued, absl::ZeroDuration());
}

TEST_F(BatcherTest, PoolNeverMixesLanes) {
  options_ = {.max_batch_size = 4};
  UseGate();
  UsePool(1);
  auto second = std::make_shared<HalfPlusTwoCallable>();
  BatchLane other(second, &options_, BatchExecutor::LoneRuns::kLikeMerged, &metrics_);
  AskAsync({1});
  gate_.AwaitArrivals(1);
  AskAsync({2});
  AwaitWaiting(1);
  std::thread asks([&] {
    const Tensor x = Tensor::Vector<float>({2});
    std::vector<Tensor> fetches;
    EXPECT_TRUE(batcher_->Run(other, 1, {}, {&x, 1}, &fetches).ok());
  });
  AwaitWaiting(2);
  gate_.Open();
  asks.join();
  JoinAll();
  EXPECT_EQ(AllOk(), 2);
  EXPECT_THAT(second->run_rows(), ElementsAre(1));
  EXPECT_THAT(callable_->run_rows(), ElementsAre(1, 1));
}

TEST_F(BatcherTest, SplitRequestGetsItsRowsInOrder) {
  options_ = {.max_batch_size = 8, .enable_large_batch_splitting = true};
  options_.max_execution_batch_size = 3;
  UsePool(2);
  EXPECT_TRUE(Ask({1, 2, 3, 4, 5, 6, 7, 8}).ok());
  EXPECT_THAT(callable_->run_rows(), UnorderedElementsAre(3, 3, 2));
}

TEST_F(BatcherTest, PartsOfARequestRunAtOnce) {
  options_ = {.max_batch_size = 6, .enable_large_batch_splitting = true};
  options_.max_execution_batch_size = 2;
  UseGate();
  UsePool(3);
  AskAsync({1, 2, 3, 4, 5, 6});
  gate_.AwaitArrivals(3);
  gate_.Open();
  JoinAll();
  EXPECT_EQ(AllOk(), 1);
}

// Another request's longer rows pad one part of the request, and not the other.
TEST_F(BatcherTest, PartsThatWerePaddedDifferentlyRunAgain) {
  options_ = {.max_batch_size = 8,
              .batch_timeout = kForever,
              .enable_large_batch_splitting = true,
              .pad_variable_length_inputs = true};
  options_.max_execution_batch_size = 2;
  UsePool(2);
  const auto ask = [this](const Tensor& x, const std::vector<float>& answer) {
    std::vector<Tensor> fetches;
    EXPECT_EQ(batcher_->Run(*lane_, x.dim(0), {}, {&x, 1}, &fetches), absl::OkStatus());
    ASSERT_EQ(fetches.size(), 1);
    EXPECT_THAT(fetches[0].flat<float>(), ::testing::ElementsAreArray(answer));
  };
  std::thread split([&] {
    ask(Tensor::Of<float>({3, 2}, {0, 2, 4, 6, 8, 10}), {2, 3, 4, 5, 6, 7});
  });
  // Its last row waits for another one.
  while (callable_->runs().empty()) absl::SleepFor(absl::Milliseconds(1));
  std::vector<Tensor> fetches;
  const Tensor longer = Tensor::Of<float>({1, 5}, {0, 0, 0, 0, 2});
  EXPECT_EQ(batcher_->Run(*lane_, 1, {}, {&longer, 1}, &fetches), absl::OkStatus());
  split.join();
}

TEST_F(BatcherTest, PartThatFailsFailsTheRequest) {
  options_ = {.max_batch_size = 4, .enable_large_batch_splitting = true};
  options_.max_execution_batch_size = 2;
  callable_ =
      std::make_shared<HalfPlusTwoCallable>([](const RunOptions&, absl::Span<const Tensor> feeds) {
        return feeds[0].flat<float>()[0] == 3 ? absl::DataLossError("three") : absl::OkStatus();
      });
  UsePool(2);
  EXPECT_EQ(Ask({1, 2, 3, 4}), absl::DataLossError("three"));
}

TEST_F(BatcherTest, LateRequestLeavesTheQueue) {
  options_ = {.max_batch_size = 2, .batch_timeout = kForever};
  UsePool(1);
  EXPECT_EQ(Ask({1}, {.timeout = absl::Milliseconds(5)}),
            absl::ResourceExhaustedError("Run() timeout exceeded while waiting in batching queue"));
  EXPECT_EQ(batcher_->num_waiting(), 0);
  AskAsync({2});
  AskAsync({3});
  JoinAll();
  EXPECT_EQ(AllOk(), 2) << "the batch is full without the one that left";
}

TEST_F(BatcherTest, CancelledRequestLeavesTheQueue) {
  options_ = {.max_batch_size = 2, .batch_timeout = kForever};
  UsePool(1);
  CancellationManager cancellation;
  AskAsync({1}, {.cancellation = &cancellation});
  AwaitWaiting(1);
  cancellation.Cancel();
  JoinAll();
  EXPECT_THAT(Codes(), ElementsAre(absl::StatusCode::kCancelled));
  EXPECT_EQ(Ask({1}, {.cancellation = &cancellation}).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(callable_->runs().empty());
}

TEST_F(BatcherTest, DrainingEndsTheWaitForOthers) {
  options_ = {.max_batch_size = 100, .batch_timeout = kForever};
  UsePool(1);
  AskAsync({1});
  AskAsync({2});
  AwaitWaiting(2);
  batcher_->DrainAll();
  JoinAll();
  EXPECT_TRUE(Ask({3}).ok()) << "and of those that come later";
  EXPECT_EQ(AllOk(), 2);
}

TEST_F(BatcherTest, DrainingALaneEndsTheWaitOfItsRequests) {
  options_ = {.max_batch_size = 100, .batch_timeout = kForever};
  UsePool(1);
  AskAsync({1});
  AwaitWaiting(1);
  batcher_->Drain(*lane_);
  JoinAll();
  EXPECT_EQ(AllOk(), 1);
}

// ---- adaptive ----

TEST_F(BatcherTest, AdaptiveRunsALoneRequestOnItsOwnThread) {
  std::thread::id runner;
  callable_ =
      std::make_shared<HalfPlusTwoCallable>([&](const RunOptions&, absl::Span<const Tensor>) {
        runner = std::this_thread::get_id();
        return absl::OkStatus();
      });
  UseSlots(1);
  EXPECT_FALSE(batcher_->MayWait());
  EXPECT_TRUE(Ask({1}).ok());
  EXPECT_EQ(runner, std::this_thread::get_id());
  EXPECT_FALSE(batcher_->MayWait());
}

TEST_F(BatcherTest, AdaptiveRunsUnmergedWhileThereAreSlots) {
  UseGate();
  UseSlots(2);
  AskAsync({1});
  AskAsync({2});
  gate_.AwaitArrivals(2);
  EXPECT_TRUE(batcher_->MayWait());
  gate_.Open();
  JoinAll();
  EXPECT_THAT(callable_->run_rows(), ElementsAre(1, 1));
}

TEST_F(BatcherTest, AdaptiveMergesWhatWaitsForASlot) {
  options_ = {.max_batch_size = 3};
  UseGate();
  UseSlots(1);
  AskAsync({1});
  gate_.AwaitArrivals(1);
  for (float i = 0; i < 4; ++i) AskAsync({i});
  AwaitWaiting(4);
  gate_.Open();
  JoinAll();
  EXPECT_EQ(AllOk(), 5);
  EXPECT_THAT(callable_->run_rows(), ElementsAre(1, 3, 1));
  EXPECT_FALSE(batcher_->MayWait());
}

TEST_F(BatcherTest, AdaptiveLetsLateAndCancelledRequestsGo) {
  UseGate();
  UseSlots(1);
  AskAsync({1});
  gate_.AwaitArrivals(1);
  EXPECT_EQ(Ask({2}, {.timeout = absl::Milliseconds(5)}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(batcher_->num_waiting(), 0);
  gate_.Open();
  JoinAll();
  EXPECT_TRUE(Ask({3}).ok());
}

// ---- both, under load ----

// Many threads, each checking that it gets the answer to its own question.
TEST_F(BatcherTest, EveryRequestGetsItsOwnAnswer) {
  constexpr int kThreads = 8, kRequests = 200;
  for (const bool adaptive : {false, true}) {
    options_ = {.max_batch_size = 6, .max_enqueued_batches = -1, .allowed_batch_sizes = {4, 6}};
    if (!adaptive) {
      options_.enable_large_batch_splitting = true;
      options_.max_execution_batch_size = 4;
    }
    adaptive ? UseSlots(2) : UsePool(2);
    std::atomic<int> answered{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRequests; ++i) {
          std::vector<float> values(1 + (t + i) % 6);
          for (size_t k = 0; k < values.size(); ++k) {
            values[k] = static_cast<float>(t * 100000 + i * 10 + k);
          }
          RunOptions options;
          if (i % 7 == 0) options.timeout = absl::Microseconds(50);
          const absl::Status status = Ask(values, options);
          const bool is_late = absl::IsResourceExhausted(status);
          EXPECT_TRUE(status.ok() || (is_late && i % 7 == 0)) << status;
          if (status.ok()) ++answered;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(answered, kThreads * kRequests * 6 / 7);
    EXPECT_EQ(batcher_->num_waiting(), 0);
  }
}

// Lanes end with their models while others are in use.
TEST_F(BatcherTest, LanesComeAndGo) {
  for (const bool adaptive : {false, true}) {
    adaptive ? UseSlots(1) : UsePool(2);
    const BatchingOptions options;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          BatchLane lane(std::make_shared<HalfPlusTwoCallable>(), &options,
                         BatchExecutor::LoneRuns::kUnchanged, &metrics_);
          const Tensor x = Tensor::Vector<float>({2});
          std::vector<Tensor> fetches;
          EXPECT_TRUE(batcher_->Run(lane, 1, {}, {&x, 1}, &fetches).ok());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace tessera::serving
