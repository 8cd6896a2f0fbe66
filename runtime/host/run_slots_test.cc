#include "runtime/host/run_slots.h"

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
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

// A turn on a thread of its own, so that turns may end in any order.
class HeldTurn {
 public:
  HeldTurn(RunSlots& slots, const Share* share)
      : thread_([this, &slots, share] {
          RunSlots::Turn turn(slots, share);
          has_slot_ = turn.Await(kLength, absl::InfinitePast(), nullptr).ok();
          tried_.Notify();
          if (has_slot_) end_.WaitForNotification();
        }) {
    tried_.WaitForNotification();
  }
  ~HeldTurn() {
    end_.Notify();
    thread_.join();
  }

  bool has_slot() const { return has_slot_; }

 private:
  bool has_slot_ = false;
  absl::Notification tried_, end_;
  std::thread thread_;
};

TEST(RunSlotsTest, TheOnlyRunOfAShareDoesNotWaitForOthers) {
  RunSlots slots(2);
  Share flood, polite, third, fourth;
  const auto try_slot = [&](const Share* share) {
    auto turn = std::make_unique<HeldTurn>(slots, share);
    return turn->has_slot() ? std::move(turn) : nullptr;
  };
  auto first = try_slot(&flood), second = try_slot(&flood);
  EXPECT_EQ(try_slot(&flood), nullptr);
  auto only = try_slot(&polite);
  EXPECT_NE(only, nullptr);
  EXPECT_EQ(try_slot(&polite), nullptr) << "it has one";
  auto another = try_slot(&third);
  EXPECT_NE(another, nullptr);
  EXPECT_EQ(try_slot(&fourth), nullptr) << "there are twice as many runs as slots";
  first.reset();
  EXPECT_EQ(try_slot(&flood), nullptr) << "the others take two of the slots";
}

TEST(RunSlotsTest, AShareWithoutASlotGetsOneFromWhoeverEnds) {
  RunSlots slots(1);
  Share starved, one, two;
  RunSlots::Turn turn_of_one(slots, &one);
  ASSERT_TRUE(turn_of_one.Await(kLength, absl::InfiniteFuture(), nullptr).ok());
  auto turn_of_two = std::make_unique<RunSlots::Turn>(slots, &two);
  ASSERT_TRUE(turn_of_two->Await(kLength, absl::InfiniteFuture(), nullptr).ok());
  std::thread thread([&] {
    RunSlots::Turn turn(slots, &starved);
    EXPECT_TRUE(turn.Await(kLength, absl::InfiniteFuture(), nullptr).ok());
  });
  WaitUntil([&] { return slots.num_waiting() == 1; });
  turn_of_two.reset();  // though there is one run more than there are slots
  thread.join();
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
