#include "serving/batching/batch_queue.h"

#include <deque>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BatchQueueTest : public ::testing::Test {
 protected:
  BatchTask* Task(int64_t rows) {
    BatchTask& task = tasks_.emplace_back();
    task.rows = rows;
    return &task;
  }
  // OK is expected.
  BatchTask* Add(BatchQueue& queue, int64_t rows, absl::Time now = absl::UnixEpoch()) {
    BatchTask* task = Task(rows);
    const absl::Status status = queue.Add(task, now);
    EXPECT_TRUE(status.ok()) << status;
    return task;
  }
  // The rows of each batch, taking all of them.
  static std::vector<int64_t> TakeAll(BatchQueue& queue) {
    std::vector<int64_t> rows;
    while (!queue.empty()) rows.push_back(queue.Take().rows);
    return rows;
  }

  std::deque<BatchTask> tasks_;
};

const absl::Time kStart = absl::UnixEpoch();

TEST_F(BatchQueueTest, RequestsShareABatchUntilOneDoesNotFit) {
  const BatchingOptions options{.max_batch_size = 4};
  BatchQueue queue(&options);
  Add(queue, 1);
  Add(queue, 2);
  Add(queue, 2);
  EXPECT_THAT(TakeAll(queue), ElementsAre(3, 2));
}

TEST_F(BatchQueueTest, OpenBatchWaitsForTheTimeoutOfItsFirstRequest) {
  const BatchingOptions options{.max_batch_size = 4, .batch_timeout = absl::Seconds(5)};
  BatchQueue queue(&options);
  EXPECT_FALSE(queue.IsDue(absl::InfiniteFuture()));
  EXPECT_EQ(queue.DueTime(), absl::InfiniteFuture());
  Add(queue, 1, kStart);
  Add(queue, 1, kStart + absl::Seconds(4));
  EXPECT_EQ(queue.DueTime(), kStart + absl::Seconds(5));
  EXPECT_FALSE(queue.IsDue(kStart + absl::Seconds(4)));
  EXPECT_TRUE(queue.IsDue(kStart + absl::Seconds(5)));
  EXPECT_TRUE(queue.IsDue(kStart - absl::Seconds(1))) << "the clock went back";
}

TEST_F(BatchQueueTest, WaitForTheTimeoutCanBeEnded) {
  const BatchingOptions options{.max_batch_size = 4, .batch_timeout = absl::Seconds(5)};
  BatchQueue queue(&options);
  Add(queue, 1, kStart);
  queue.StopWaiting();
  EXPECT_TRUE(queue.IsDue(kStart));
}

TEST_F(BatchQueueTest, FullBatchesAreDueAtOnce) {
  const BatchingOptions options{.max_batch_size = 2, .batch_timeout = absl::Seconds(5)};
  BatchQueue queue(&options);
  Add(queue, 1);
  Add(queue, 1);
  EXPECT_TRUE(queue.IsDue(kStart));
}

TEST_F(BatchQueueTest, BatchThatWasClosedByOneThatDoesNotFitIsDueAtOnce) {
  const BatchingOptions options{.max_batch_size = 4, .batch_timeout = absl::Seconds(5)};
  BatchQueue queue(&options);
  Add(queue, 3);
  Add(queue, 2);
  EXPECT_TRUE(queue.IsDue(kStart));
  EXPECT_EQ(queue.Take().rows, 3);
  EXPECT_FALSE(queue.IsDue(kStart)) << "the second one is open";
}

TEST_F(BatchQueueTest, RequestsLargerThanABatchAreRefused) {
  const BatchingOptions options{.max_batch_size = 4};
  BatchQueue queue(&options);
  EXPECT_EQ(queue.Add(Task(5), kStart),
            absl::InvalidArgumentError("Task size 5 is larger than maximum input batch size 4"));
  EXPECT_TRUE(queue.empty());
}

TEST_F(BatchQueueTest, FullQueueRefusesButFillsItsOpenBatch) {
  const BatchingOptions options{.max_batch_size = 2, .max_enqueued_batches = 2};
  BatchQueue queue(&options);
  Add(queue, 2);
  Add(queue, 1);
  EXPECT_EQ(queue.Add(Task(2), kStart),
            absl::UnavailableError(
                "The batch scheduling queue to which this task was submitted is full; currently 2 "
                "batches enqueued and max_enqueued_batches is 2"));
  Add(queue, 1);
  EXPECT_THAT(TakeAll(queue), ElementsAre(2, 2));
}

TEST_F(BatchQueueTest, SplittingFillsEveryBatchToTheLastRow) {
  BatchingOptions options{.max_batch_size = 8, .enable_large_batch_splitting = true};
  options.max_execution_batch_size = 3;
  BatchQueue queue(&options);
  Add(queue, 8);
  EXPECT_THAT(TakeAll(queue), ElementsAre(3, 3, 2));
  Add(queue, 2);
  const BatchTask* split = Add(queue, 2);
  EXPECT_EQ(split->parts, 2);
  const Batch first = queue.Take();
  EXPECT_EQ(first.rows, 3);
  EXPECT_EQ(first.parts[1].begin, 0);
  EXPECT_EQ(first.parts[1].end, 1);
  const Batch second = queue.Take();
  EXPECT_EQ(second.parts[0].begin, 1);
  EXPECT_EQ(second.parts[0].end, 2);
}

TEST_F(BatchQueueTest, SplittingCountsTheRowsThatAreLeft) {
  BatchingOptions options{
      .max_batch_size = 8, .max_enqueued_batches = 2, .enable_large_batch_splitting = true};
  options.max_execution_batch_size = 3;
  BatchQueue queue(&options);
  Add(queue, 1);
  const absl::Status status = queue.Add(Task(6), kStart);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("task size is 6 but scheduling capacity is only 5"));
  Add(queue, 5);
  EXPECT_EQ(queue.Add(Task(9), kStart).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(BatchQueueTest, WithdrawnRequestLeavesNoTrace) {
  const BatchingOptions options{.max_batch_size = 4, .max_enqueued_batches = 1};
  BatchQueue queue(&options);
  Add(queue, 1);
  BatchTask* leaver = Add(queue, 3);
  EXPECT_TRUE(queue.Withdraw(leaver));
  EXPECT_EQ(queue.Take().parts.size(), 1);
  leaver = Add(queue, 4);
  EXPECT_TRUE(queue.Withdraw(leaver));
  EXPECT_TRUE(queue.empty());
}

TEST_F(BatchQueueTest, WhatWasTakenCannotBeWithdrawn) {
  BatchingOptions options{.max_batch_size = 4, .enable_large_batch_splitting = true};
  options.max_execution_batch_size = 2;
  BatchQueue queue(&options);
  BatchTask* task = Add(queue, 4);
  queue.Take();
  EXPECT_FALSE(queue.Withdraw(task));
  EXPECT_EQ(queue.Take().rows, 2);
}

TEST_F(BatchQueueTest, NegativeLimitsTakeEverything) {
  BatchingOptions options{.max_batch_size = -1, .max_enqueued_batches = -1};
  BatchQueue queue(&options);
  Add(queue, 1 << 30);
  Add(queue, 1 << 30);
  EXPECT_THAT(TakeAll(queue), ElementsAre(int64_t{1} << 31));
}

}  // namespace
}  // namespace tessera::serving
