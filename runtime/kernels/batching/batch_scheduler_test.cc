#include "runtime/kernels/batching/batch_scheduler.h"

#include <thread>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/batching/tensor_mailbox.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// One execution of a kernel, with a step of its own.
struct Execution {
  explicit Execution(int64_t rows) : task(std::make_shared<BatchTask>()) {
    step.cancellation = &cancellation;
    task->rows = rows;
    task->inputs = {Tensor::Of<int64_t>(Shape({rows}), std::vector<int64_t>(rows, rows))};
    task->step = &step;
    task->done = [this](absl::StatusOr<std::vector<Tensor>> result) {
      outputs = std::move(result);
      done.Notify();
    };
  }
  // Waits, and returns the number of rows of the batch.
  absl::StatusOr<int64_t> Rows() {
    done.WaitForNotification();
    if (!outputs.ok()) return outputs.status();
    return outputs->front().scalar<int64_t>();
  }

  CancellationManager cancellation;
  StepContext step;
  std::shared_ptr<BatchTask> task;
  absl::StatusOr<std::vector<Tensor>> outputs;
  absl::Notification done;
};

// Tells each task how many rows its batch has.
absl::StatusOr<std::vector<std::vector<Tensor>>> CountRows(Batch& batch) {
  return std::vector<std::vector<Tensor>>(batch.tasks.size(), {Tensor::Scalar(batch.rows)});
}

constexpr absl::Duration kNever = absl::Hours(1000);

TEST(BatchSchedulerTest, TasksThatFillABatchRunTogether) {
  BatchScheduler scheduler(/*num_threads=*/2);
  Execution one(1), two(2), other(1);
  scheduler.Add("q", {.max_batch_rows = 3, .timeout = kNever}, CountRows, one.task);
  scheduler.Add("other", {.max_batch_rows = 1, .timeout = kNever}, CountRows, other.task);
  EXPECT_EQ(*other.Rows(), 1) << "queues do not wait for each other";
  scheduler.Add("q", {.max_batch_rows = 3, .timeout = kNever}, CountRows, two.task);
  EXPECT_EQ(*one.Rows(), 3);
  EXPECT_EQ(*two.Rows(), 3);
}

TEST(BatchSchedulerTest, TheFirstTaskWaitsForItsTimeoutAtMost) {
  BatchScheduler scheduler(1);
  Execution one(1);
  scheduler.Add("q", {.max_batch_rows = 3, .timeout = absl::Milliseconds(1)}, CountRows, one.task);
  EXPECT_EQ(*one.Rows(), 1);
}

TEST(BatchSchedulerTest, ATaskThatDoesNotFitClosesTheBatch) {
  BatchScheduler scheduler(1);
  Execution first(2), second(2), third(1);
  const BatchQueueOptions options = {.max_batch_rows = 3, .timeout = kNever};
  scheduler.Add("q", options, CountRows, first.task);
  scheduler.Add("q", options, CountRows, second.task);
  EXPECT_EQ(*first.Rows(), 2);
  scheduler.Add("q", options, CountRows, third.task);
  EXPECT_EQ(*second.Rows(), 3);
  EXPECT_EQ(*third.Rows(), 3);
}

TEST(BatchSchedulerTest, FullQueuesAndLargeTasksAreRefused) {
  BatchScheduler scheduler(1);
  absl::Notification entered, leave;
  const BatchProcessor wait = [&](Batch& batch) {
    entered.Notify();
    leave.WaitForNotification();
    return CountRows(batch);
  };
  const BatchQueueOptions options = {
      .max_batch_rows = 1, .max_enqueued_batches = 1, .timeout = kNever};
  Execution running(1), refused(1), large(2);
  scheduler.Add("busy", options, wait, running.task);
  entered.WaitForNotification();
  Execution waiting(1);
  scheduler.Add("q", options, CountRows, waiting.task);
  scheduler.Add("q", options, CountRows, refused.task);
  EXPECT_EQ(refused.Rows().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.Rows().status().message()), HasSubstr("max_enqueued_batches"));
  scheduler.Add("q", options, CountRows, large.task);
  EXPECT_EQ(large.Rows().status().code(), absl::StatusCode::kInvalidArgument);
  leave.Notify();
  EXPECT_EQ(*running.Rows(), 1);
  EXPECT_EQ(*waiting.Rows(), 1);
}

TEST(BatchSchedulerTest, ATaskThatIsCancelledWhileItWaitsLeavesItsBatch) {
  BatchScheduler scheduler(1);
  const BatchQueueOptions options = {.max_batch_rows = 3, .timeout = kNever};
  Execution cancelled(1), before(1), one(1), two(2);
  before.cancellation.Cancel();
  scheduler.Add("q", options, CountRows, before.task);
  EXPECT_TRUE(absl::IsCancelled(before.Rows().status()));
  scheduler.Add("q", options, CountRows, cancelled.task);
  scheduler.Add("q", options, CountRows, one.task);
  cancelled.cancellation.Cancel();
  EXPECT_TRUE(absl::IsCancelled(cancelled.Rows().status()));
  scheduler.Add("q", options, CountRows, two.task);
  EXPECT_EQ(*one.Rows(), 3);
  EXPECT_EQ(*two.Rows(), 3);
}

TEST(BatchSchedulerTest, ARunIsCancelledOnceAllItsTasksAre) {
  BatchScheduler scheduler(1);
  absl::Notification entered, ended;
  const BatchProcessor wait =
      [&](Batch& batch) -> absl::StatusOr<std::vector<std::vector<Tensor>>> {
    CancellationManager::Token token;
    EXPECT_TRUE(batch.cancellation.Register([&] { ended.Notify(); }, &token));
    entered.Notify();
    ended.WaitForNotification();
    return absl::CancelledError("the run");
  };
  const BatchQueueOptions options = {.max_batch_rows = 2, .timeout = kNever};
  Execution one(1), two(1);
  scheduler.Add("q", options, wait, one.task);
  scheduler.Add("q", options, wait, two.task);
  entered.WaitForNotification();
  one.cancellation.Cancel();
  EXPECT_FALSE(ended.HasBeenNotified());
  two.cancellation.Cancel();
  EXPECT_EQ(one.Rows().status(), absl::CancelledError("the run"));
  EXPECT_EQ(two.Rows().status(), absl::CancelledError("the run"));
}

TEST(BatchSchedulerTest, BackgroundWorkRunsAloneOnItsOwnThread) {
  BatchScheduler scheduler(1);
  Execution waiting(1), background(1), last(1);
  const BatchQueueOptions options = {.max_batch_rows = 2, .timeout = kNever};
  scheduler.Add("q", options, CountRows, waiting.task);
  ThreadPool pool({.num_threads = 1});
  pool_redirect = &pool;
  std::thread::id ran;
  const BatchProcessor note = [&](Batch& batch) {
    ran = std::this_thread::get_id();
    return CountRows(batch);
  };
  scheduler.Add("q", options, note, background.task);
  pool_redirect = nullptr;
  EXPECT_EQ(*background.Rows(), 1);
  EXPECT_EQ(ran, std::this_thread::get_id());
  scheduler.Add("q", options, CountRows, last.task);
  EXPECT_EQ(*waiting.Rows(), 2);
}

TEST(BatchSchedulerTest, ManyThreadsAddAndCancel) {
  BatchScheduler scheduler(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&scheduler, t] {
      for (int i = 0; i < 300; ++i) {
        Execution execution(1 + (i + t) % 3);
        scheduler.Add(
            t % 2 == 0 ? "even" : "odd",
            {.max_batch_rows = 5, .max_enqueued_batches = 1000, .timeout = absl::Microseconds(50)},
            CountRows, execution.task);
        if (i % 4 == 0) execution.cancellation.Cancel();
        const absl::StatusOr<int64_t> rows = execution.Rows();
        EXPECT_TRUE(rows.ok() ? *rows >= execution.task->rows && *rows <= 5
                              : absl::IsCancelled(rows.status()))
            << rows.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A step that takes from a mailbox.
struct Taker {
  explicit Taker(CancellationManager* cancellation) { step.cancellation = cancellation; }
  TensorMailbox::Taken Callback() {
    return [this](absl::StatusOr<Tensor> tensor) {
      result = std::move(tensor);
      done.Notify();
    };
  }
  StepContext step;
  absl::StatusOr<Tensor> result;
  absl::Notification done;
};

TEST(TensorMailboxTest, HandsOverInEitherOrder) {
  TensorMailbox mailbox;
  CancellationManager cancellation;
  Taker first(&cancellation), second(&cancellation);
  mailbox.Take(7, first.step, kNever, first.Callback());
  EXPECT_FALSE(first.done.HasBeenNotified());
  mailbox.Put(7, Tensor::Scalar<int64_t>(70), kNever);
  EXPECT_EQ(first.result->scalar<int64_t>(), 70);
  mailbox.Put(8, Tensor::Scalar<int64_t>(80), kNever);
  mailbox.Take(8, second.step, kNever, second.Callback());
  EXPECT_EQ(second.result->scalar<int64_t>(), 80);
}

TEST(TensorMailboxTest, WaitsEndByTimeoutAndCancellation) {
  TensorMailbox mailbox;
  CancellationManager cancellation, other;
  Taker late(&cancellation), cancelled(&other);
  mailbox.Take(1, late.step, absl::Milliseconds(1), late.Callback());
  late.done.WaitForNotification();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.result.status()));
  mailbox.Take(2, cancelled.step, kNever, cancelled.Callback());
  other.Cancel();
  EXPECT_TRUE(absl::IsCancelled(cancelled.result.status()));
}

TEST(TensorMailboxTest, ANumberHasOneTaker) {
  TensorMailbox mailbox;
  CancellationManager cancellation, other;
  Taker first(&cancellation), second(&other);
  mailbox.Take(1, first.step, kNever, first.Callback());
  mailbox.Take(1, second.step, kNever, second.Callback());
  ASSERT_TRUE(second.done.HasBeenNotified());
  EXPECT_TRUE(absl::IsAlreadyExists(second.result.status()));
  other.Cancel();
  ASSERT_FALSE(first.done.HasBeenNotified());
  mailbox.Put(1, Tensor::Scalar<int64_t>(10), kNever);
  ASSERT_TRUE(first.done.HasBeenNotified());
  EXPECT_EQ(first.result->scalar<int64_t>(), 10);
}

}  // namespace
}  // namespace tessera
