#include "serving/batching/batch_executor.h"

#include <deque>
#include <new>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/batching/testing/half_plus_two_callable.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using LoneRuns = BatchExecutor::LoneRuns;

const absl::Time kNow = absl::UnixEpoch();

class BatchExecutorTest : public ::testing::Test {
 protected:
  // Adds a request of one tensor.
  BatchTask& Add(Tensor x) {
    tensors_.push_back(std::move(x));
    BatchTask& task = tasks_.emplace_back();
    task.feeds = {&tensors_.back(), 1};
    task.rows = tensors_.back().dim(0);
    task.queued = kNow;
    batch_.parts.push_back({.task = &task, .begin = 0, .end = task.rows});
    batch_.rows += task.rows;
    return task;
  }
  void Execute(LoneRuns lone_runs = LoneRuns::kLikeMerged) {
    callable_ = std::make_shared<HalfPlusTwoCallable>(on_run_);
    BatchExecutor(callable_, &options_, lone_runs, &metrics_).Execute(kNow, &batch_);
  }
  absl::Span<const float> Output(size_t part) {
    EXPECT_TRUE(batch_.parts[part].status.ok()) << batch_.parts[part].status;
    return batch_.parts[part].outputs[0].flat<float>();
  }

  BatchingOptions options_;
  HalfPlusTwoCallable::OnRun on_run_;
  MetricsRegistry registry_;
  BatchMetrics all_metrics_{&registry_};
  VersionBatchMetrics metrics_{{"m", 1}, &all_metrics_};
  std::deque<Tensor> tensors_;
  std::deque<BatchTask> tasks_;
  Batch batch_;
  std::shared_ptr<HalfPlusTwoCallable> callable_;
};

TEST_F(BatchExecutorTest, OneRunForAllAndEachItsRows) {
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({4, 6}));
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3));
  EXPECT_THAT(Output(1), ElementsAre(4, 5));
  EXPECT_THAT(callable_->run_rows(), ElementsAre(3));
  EXPECT_TRUE(batch_.parts[0].outputs[0].SharesBufferWith(batch_.parts[1].outputs[0]));
}

TEST_F(BatchExecutorTest, LoneRequestIsRunOnItsOwnTensors) {
  Add(Tensor::Vector<float>({2}));
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3));
  EXPECT_TRUE(callable_->runs()[0].SharesBufferWith(tensors_[0]));
}

TEST_F(BatchExecutorTest, PaddingRepeatsARowAndIsCut) {
  options_ = {.max_batch_size = 8, .allowed_batch_sizes = {4, 8}};
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({4, 6}));
  Execute();
  EXPECT_THAT(Output(1), ElementsAre(4, 5));
  EXPECT_THAT(callable_->runs()[0].flat<float>(), ElementsAre(2, 4, 6, 4));
  EXPECT_THAT(registry_.RenderMetrics(),
              HasSubstr("padding_size_sum{execution_batch_size=\"4\"} 1\n"));
}

TEST_F(BatchExecutorTest, LoneRequestIsPaddedUnlessItRunsUnchanged) {
  options_ = {.max_batch_size = 4, .allowed_batch_sizes = {4}};
  Add(Tensor::Vector<float>({2}));
  Execute();
  EXPECT_THAT(callable_->run_rows(), ElementsAre(4));
  Execute(LoneRuns::kUnchanged);
  EXPECT_THAT(callable_->run_rows(), ElementsAre(1));
  EXPECT_THAT(Output(0), ElementsAre(3));
}

TEST_F(BatchExecutorTest, RequestsOfOtherShapesRunApart) {
  Add(Tensor::Of<float>({1, 1}, {2}));
  Add(Tensor::Of<float>({1, 2}, {4, 6}));
  Add(Tensor::Of<float>({1, 1}, {8}));
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3));
  EXPECT_THAT(Output(1), ElementsAre(4, 5));
  EXPECT_THAT(Output(2), ElementsAre(6));
  EXPECT_THAT(callable_->run_rows(), ElementsAre(2, 1));
}

TEST_F(BatchExecutorTest, VariableLengthsArePaddedAndOutputsStayWide) {
  options_.pad_variable_length_inputs = true;
  Add(Tensor::Of<float>({1, 1}, {2}));
  Add(Tensor::Of<float>({1, 2}, {4, 6}));
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3, 3));
  EXPECT_THAT(Output(1), ElementsAre(4, 5));
  EXPECT_THAT(callable_->run_rows(), ElementsAre(2));
}

TEST_F(BatchExecutorTest, WrongDtypeFailsAlone) {
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<std::string>({"no number"}));
  Add(Tensor::Vector<float>({4}));
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3));
  EXPECT_THAT(Output(2), ElementsAre(4));
  EXPECT_EQ(batch_.parts[1].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(batch_.parts[1].status.message()),
              HasSubstr("to be float but string is provided"));
}

TEST_F(BatchExecutorTest, MergedRunThatFailsIsTriedOneByOne) {
  on_run_ = [](const RunOptions&, absl::Span<const Tensor> feeds) {
    for (const float x : feeds[0].flat<float>()) {
      if (x < 0) return absl::OutOfRangeError("negative");
    }
    return absl::OkStatus();
  };
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({-1}));
  Add(Tensor::Vector<float>({4}));
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3));
  EXPECT_THAT(Output(2), ElementsAre(4));
  EXPECT_EQ(batch_.parts[1].status, absl::OutOfRangeError("negative"));
  EXPECT_THAT(callable_->run_rows(), ElementsAre(3, 1, 1, 1));
}

TEST_F(BatchExecutorTest, LackOfMemoryFailsTheRequestsThatNeedTooMuch) {
  on_run_ = [](const RunOptions&, absl::Span<const Tensor> feeds) -> absl::Status {
    if (feeds[0].dim(0) > 1) throw std::bad_alloc();
    return absl::OkStatus();
  };
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({4, 6}));
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3));
  EXPECT_EQ(batch_.parts[1].status,
            absl::ResourceExhaustedError("the batch: there is not enough memory"));
}

TEST_F(BatchExecutorTest, RunThatIsTooLateIsNotTriedAgain) {
  on_run_ = [](const RunOptions&, absl::Span<const Tensor>) {
    return absl::DeadlineExceededError("late");
  };
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({4}));
  Execute();
  EXPECT_EQ(batch_.parts[0].status, absl::DeadlineExceededError("late"));
  EXPECT_EQ(batch_.parts[1].status, absl::DeadlineExceededError("late"));
  EXPECT_EQ(callable_->runs().size(), 1);
}

TEST_F(BatchExecutorTest, NothingRunsForRequestsThatAreAllLate) {
  Add(Tensor::Vector<float>({2})).deadline = kNow;
  Add(Tensor::Vector<float>({4})).deadline = kNow - absl::Seconds(1);
  Execute();
  EXPECT_EQ(batch_.parts[0].status,
            absl::ResourceExhaustedError("Run() timeout exceeded while waiting in batching queue"));
  EXPECT_TRUE(callable_->runs().empty());
}

TEST_F(BatchExecutorTest, RunHasTheLatestDeadlineOfItsRequests) {
  absl::Duration timeout;
  on_run_ = [&](const RunOptions& options, absl::Span<const Tensor>) {
    timeout = options.timeout;
    return absl::OkStatus();
  };
  Add(Tensor::Vector<float>({2})).deadline = kNow;
  Add(Tensor::Vector<float>({4})).deadline = absl::InfiniteFuture();
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3)) << "late, but in time with its neighbour";
  EXPECT_EQ(timeout, absl::InfiniteDuration());
}

// Gives one number for any input.
class SumCallable : public Callable {
 public:
  absl::Status Run(const RunOptions&, absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches,
                   tensorflow::RunMetadata*) const override {
    float sum = 0;
    for (const float x : feeds[0].flat<float>()) sum += x;
    fetches->assign({Tensor::Scalar(sum)});
    return absl::OkStatus();
  }
  const RunSignature& signature() const override { return signature_; }

 private:
  const RunSignature signature_{};
};

TEST_F(BatchExecutorTest, OutputsThatHaveNoRowsCannotBeShared) {
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({4, 6}));
  const auto sum = std::make_shared<SumCallable>();
  BatchExecutor(sum, &options_, LoneRuns::kLikeMerged, &metrics_).Execute(kNow, &batch_);
  for (const BatchPart& part : batch_.parts) {
    EXPECT_EQ(part.status, absl::FailedPreconditionError("Batched output tensor has 0 dimensions"));
  }
}

TEST_F(BatchExecutorTest, UnchangedRunsGiveWhatTheyGiveWithoutBatching) {
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({4, 6}));
  const auto sum = std::make_shared<SumCallable>();
  BatchExecutor(sum, &options_, LoneRuns::kUnchanged, &metrics_).Execute(kNow, &batch_);
  EXPECT_THAT(Output(0), ElementsAre(2));
  EXPECT_THAT(Output(1), ElementsAre(10));
}

TEST_F(BatchExecutorTest, MetricsCountRequestsRunsAndRows) {
  EXPECT_THAT(registry_.RenderMetrics(), Not(HasSubstr("wrapped_run_count{}")));
  options_ = {.max_batch_size = 4, .allowed_batch_sizes = {4}};
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({4, 6}));
  Execute();
  const std::string page = registry_.RenderMetrics();
  const std::string prefix = ":tensorflow:serving:batching_session:";
  for (const char* line :
       {"wrapped_run_count{} 1\n", "queuing_latency_count{thread_pool_name=\"\"} 2\n",
        "queuing_latency_bucket{thread_pool_name=\"\",le=\"100\"} 2\n",
        "input_batch_size_count{} 2\n", "input_batch_size_sum{} 3\n",
        "processed_batch_size_count{} 1\n", "processed_batch_size_sum{} 4\n",
        "processed_batch_size_bucket{le=\"8192\"} 1\n",
        "padding_size_bucket{execution_batch_size=\"4\",le=\"2\"} 1\n"}) {
    EXPECT_THAT(page, HasSubstr(prefix + line));
  }
}

TEST_F(BatchExecutorTest, RequestsThatAreRunAgainCountOnceTheirRunsEach) {
  on_run_ = [](const RunOptions&, absl::Span<const Tensor> feeds) {
    return feeds[0].dim(0) > 1 ? absl::OutOfRangeError("two") : absl::OkStatus();
  };
  Add(Tensor::Vector<float>({2}));
  Add(Tensor::Vector<float>({4}));
  Execute();
  const std::string page = registry_.RenderMetrics();
  EXPECT_THAT(page, HasSubstr("input_batch_size_count{} 2\n"));
  EXPECT_THAT(page, HasSubstr("wrapped_run_count{} 3\n"));
}

TEST_F(BatchExecutorTest, MetricsCountNothingOfABatchThatIsNotCounted) {
  batch_.is_counted = false;
  Add(Tensor::Vector<float>({2}));
  const std::string before = registry_.RenderMetrics();
  Execute();
  EXPECT_THAT(Output(0), ElementsAre(3));
  EXPECT_EQ(registry_.RenderMetrics(), before);
}

}  // namespace
}  // namespace tessera::serving
