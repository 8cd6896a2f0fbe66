#include "runtime/host/run_slots.h"

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "runtime/base/thread_share.h"

namespace tessera {
namespace {

constexpr int64_t kLength = 2'000'000;

void WaitUntil(const std::function<bool()>& is_so) {
  while (!is_so()) absl::SleepFor(absl::Milliseconds(1));
}

TEST(RunSlotsTest, FirstComeFirstServed) {
  RunSlots slots(1);
  auto first = std::make_unique<RunSlots::Turn>(slots);
  ASSERT_TRUE(first->Await(kLength, absl::InfiniteFuture(), nullptr).ok());
  std::vector<int> order;  // guarded by the one slot
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      RunSlots::Turn turn(slots);
      ASSERT_TRUE(turn.Await(kLength, absl::InfiniteFuture(), nullptr).ok());
      order.push_back(i);
    });
    WaitUntil([&] { return slots.num_waiting() == i + 1; });
  }
  EXPECT_TRUE(order.empty());
  first.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(slots.num_waiting(), 0);
}

TEST(RunSlotsTest, ShortRunsDoNotWaitForLongOnes) {
  RunSlots slots(1);
  RunSlots::Turn first_long(slots), shorter(slots), longest(slots), second_long(slots);
  ASSERT_TRUE(first_long.Await(500'000'000, absl::InfiniteFuture(), nullptr).ok());
  EXPECT_TRUE(shorter.Await(kLength, absl::InfiniteFuture(), nullptr).ok());
  EXPECT_TRUE(longest.Await(60'000'000'000, absl::InfiniteFuture(), nullptr).ok());
  EXPECT_EQ(second_long.Await(400'000'000, absl::InfinitePast(), nullptr).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(RunSlotsTest, WhoGivesUpLeavesTheQueue) {
  RunSlots slots(1);
  auto first = std::make_unique<RunSlots::Turn>(slots);
  ASSERT_TRUE(first->Await(kLength, absl::InfiniteFuture(), nullptr).ok());
  {
    RunSlots::Turn turn(slots);
    const absl::Time soon = absl::Now() + absl::Milliseconds(5);
    EXPECT_EQ(turn.Await(kLength, soon, nullptr).code(), absl::StatusCode::kDeadlineExceeded);
  }
  for (const bool before : {true, false}) {
    CancellationManager cancellation;
    if (before) cancellation.Cancel();
    std::thread thread([&] {
      RunSlots::Turn turn(slots);
      EXPECT_EQ(turn.Await(kLength, absl::InfiniteFuture(), &cancellation).code(),
                absl::StatusCode::kCancelled);
    });
    if (!before) WaitUntil([&] { return slots.num_waiting() == 1; });
    cancellation.Cancel();
    thread.join();
  }
  EXPECT_EQ(slots.num_waiting(), 0);
  first.reset();
  RunSlots::Turn next(slots);
  EXPECT_TRUE(next.Await(kLength, absl::InfiniteFuture(), nullptr).ok());
}

TEST(RunSlotsTest, RunsDivideThePool) {
  RunSlots slots(4);
  EXPECT_EQ(ThreadShare(4), 4);
  RunSlots::Turn turn(slots);
  ASSERT_TRUE(turn.Await(kLength, absl::InfiniteFuture(), nullptr).ok());
  EXPECT_EQ(ThreadShare(4), 4);
  std::thread([&] {
    RunSlots::Turn theirs(slots);
    ASSERT_TRUE(theirs.Await(kLength, absl::InfiniteFuture(), nullptr).ok());
    EXPECT_EQ(ThreadShare(4), 2);
  }).join();
  EXPECT_EQ(ThreadShare(4), 4);
}

}  // namespace
}  // namespace tessera
