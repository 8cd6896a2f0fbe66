#include "runtime/training/pipeline/batch_ahead.h"

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

// Batch n of a scalar; the end of an epoch at every third one.
BatchAhead::Result BatchNumber(int n) {
  BatchAhead::Result result;
  result.has_batch = n % 3 != 0;
  if (*result.has_batch) result.batch = {Tensor::Scalar(n)};
  return result;
}

// Blocks until it is cancelled.
BatchAhead::Result AwaitCancellation(CancellationManager* cancellation) {
  absl::Notification cancelled;
  CancellationManager::Token token;
  if (cancellation->Register([&] { cancelled.Notify(); }, &token)) {
    cancelled.WaitForNotification();
    cancellation->TryDeregister(token);
  }
  BatchAhead::Result result;
  result.has_batch = absl::CancelledError("cancelled");
  return result;
}

TEST(BatchAheadTest, BatchesComeInOrderAndEpochsEndWhereTheyDo) {
  int n = 0;
  BatchAhead ahead([&n](CancellationManager*) { return BatchNumber(++n); }, nullptr);
  for (int i = 1; i <= 10; ++i) {
    const BatchAhead::Result result = ahead.Next(nullptr);
    ASSERT_TRUE(result.has_batch.ok());
    EXPECT_EQ(*result.has_batch, i % 3 != 0);
    if (*result.has_batch) {
      EXPECT_EQ(result.batch[0].scalar<int>(), i);
    }
  }
}

TEST(BatchAheadTest, TheNextBatchIsGotWhileTheCallerHasTheLastOne) {
  std::atomic<int> n{0};
  absl::Notification second;
  BatchAhead ahead(
      [&](CancellationManager*) {
        if (++n == 2) second.Notify();
        return BatchNumber(1);
      },
      nullptr);
  ahead.Next(nullptr);
  second.WaitForNotification();
  EXPECT_EQ(ahead.AwaitPending().size(), 1);
  EXPECT_EQ(n, 2) << "one batch ahead, and no more";
}

TEST(BatchAheadTest, NothingIsGotBeforeTheFirstCallAndAfterAnError) {
  std::atomic<int> n{0};
  BatchAhead ahead(
      [&](CancellationManager*) {
        ++n;
        BatchAhead::Result result;
        result.has_batch = absl::DataLossError("torn");
        return result;
      },
      nullptr);
  EXPECT_TRUE(ahead.AwaitPending().empty());
  EXPECT_EQ(n, 0);
  EXPECT_EQ(ahead.Next(nullptr).has_batch.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(ahead.AwaitPending().empty());
  EXPECT_EQ(n, 1);
}

TEST(BatchAheadTest, WhoWaitsCanBeCancelled) {
  BatchAhead ahead(AwaitCancellation, nullptr);
  CancellationManager cancellation;
  std::thread canceller([&] { cancellation.Cancel(); });
  EXPECT_EQ(ahead.Next(&cancellation).has_batch.status().code(), absl::StatusCode::kCancelled);
  canceller.join();
}

TEST(BatchAheadTest, WhatIsUnderWayEndsWithItsOwnCancellationAndWithTheObject) {
  CancellationManager cancellation;
  int n = 0;
  const auto get = [&n](CancellationManager* of_get) {
    return ++n == 1 ? BatchNumber(1) : AwaitCancellation(of_get);
  };
  BatchAhead ahead(get, &cancellation);
  ahead.Next(nullptr);  // after which the thread waits
  cancellation.Cancel();
  ASSERT_EQ(ahead.AwaitPending().size(), 1);
  EXPECT_EQ(ahead.AwaitPending()[0].has_batch.status().code(), absl::StatusCode::kCancelled);
  BatchAhead dies([](CancellationManager* of_get) { return AwaitCancellation(of_get); }, nullptr);
}

TEST(BatchAheadTest, PendingBatchesComeFirst) {
  int n = 5;
  BatchAhead ahead([&n](CancellationManager*) { return BatchNumber(++n); }, nullptr);
  ahead.SetPending({BatchNumber(1), BatchNumber(2)});
  EXPECT_EQ(ahead.Next(nullptr).batch[0].scalar<int>(), 1);
  EXPECT_EQ(ahead.Next(nullptr).batch[0].scalar<int>(), 2);
  EXPECT_FALSE(*ahead.Next(nullptr).has_batch);
  EXPECT_EQ(ahead.Next(nullptr).batch[0].scalar<int>(), 7);
}

}  // namespace
}  // namespace tessera
