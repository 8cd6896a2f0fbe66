#include "serving/rollout/sliding_window.h"

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000'000);

TEST(SlidingWindowTest, WhatWasCountedStaysForTheWindowAndATwelfthMore) {
  WindowCounters counters(absl::Seconds(60), 2);
  counters.Add(kStart, 1);
  EXPECT_THAT(counters.Sums(kStart), ElementsAre(0, 1));
  EXPECT_THAT(counters.Sums(kStart + absl::Seconds(60)), ElementsAre(0, 1));
  EXPECT_THAT(counters.Sums(kStart + absl::Seconds(65)), ElementsAre(0, 0));
  EXPECT_THAT(counters.Sums(kStart - absl::Seconds(5)), ElementsAre(0, 0));
}

TEST(SlidingWindowTest, SlotsAreUsedAgainByLaterSlices) {
  WindowCounters counters(absl::Seconds(12), 1);
  for (int second = 0; second < 100; ++second) {
    counters.Add(kStart + absl::Seconds(second), 0);
    EXPECT_EQ(counters.Sums(kStart + absl::Seconds(second))[0], std::min(second + 1, 13));
  }
  // Long after, a slot still has the counts of its last slice, which do not count.
  EXPECT_EQ(counters.Sums(kStart + absl::Hours(24))[0], 0);
}

TEST(SlidingWindowTest, ResetForgetsAllHoweverOften) {
  WindowCounters counters(absl::Seconds(60), 1);
  for (int i = 0; i < 200; ++i) {
    counters.Add(kStart, 0);
    EXPECT_EQ(counters.Sums(kStart)[0], 1);
    counters.Reset();
    EXPECT_EQ(counters.Sums(kStart)[0], 0);
  }
}

TEST(SlidingWindowTest, ThreadsLoseNoCounts) {
  constexpr int kThreads = 4, kAdds = 20'000;
  WindowCounters counters(absl::Seconds(120), 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      // All threads enter the same new slices at about the same time.
      for (int i = 0; i < kAdds; ++i) counters.Add(kStart + absl::Milliseconds(i), i % 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<int64_t> sums = counters.Sums(kStart + absl::Milliseconds(kAdds));
  EXPECT_EQ(sums[0] + sums[1] + sums[2], kThreads * kAdds);
}

}  // namespace
}  // namespace tessera::serving
