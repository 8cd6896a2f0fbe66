#include <atomic>
#include <map>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/core/manager.h"
#include "serving/core/testing/manager_fixture.h"
#include "serving/core/testing/wait_until.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;

TEST(AspiredVersionsManagerTest, MemoryLimitRefusesAndTheOldVersionServesOn) {
  Fixture f({.max_load_retries = 0, .memory_limit = 1000});
  f.SetMemoryOfVersions(600);
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  f.Aspire("m", {2});
  ASSERT_TRUE(f.WaitUntil("m", 2, State::kEnd));
  EXPECT_EQ(f.StatusOf("m", 2).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(f.TriesOf("m", 2), 0) << "refused before anything is loaded";
  EXPECT_EQ(f.Acquire("m")->version(), 1);
  EXPECT_THAT(f.History("m"),
              ElementsAre("1 START", "1 LOADING", "1 AVAILABLE", "2 START", "2 END"));
}

TEST(AspiredVersionsManagerTest, VersionWithoutRoomIsLoadedOnceThereIsSome) {
  Fixture f({.max_load_retries = 0, .memory_limit = 1000});
  f.SetMemoryOfVersions(600);
  f.Aspire("a", {1});
  ASSERT_TRUE(f.WaitUntil("a", 1, State::kAvailable));
  f.Aspire("b", {1});
  ASSERT_TRUE(f.WaitUntil("b", 1, State::kEnd));
  f.Aspire("a", {});
  EXPECT_TRUE(f.WaitUntil("b", 1, State::kAvailable));
}

TEST(AspiredVersionsManagerTest, FailedLoadGivesItsMemoryBack) {
  Fixture f({.max_load_retries = 0, .memory_limit = 1000});
  f.SetMemoryOfVersions(600);
  f.FailLoadsOf("a", 1, absl::DataLossError("torn"));
  f.Aspire("a", {1});
  ASSERT_TRUE(f.WaitUntil("a", 1, State::kEnd));
  f.Aspire("b", {1});
  EXPECT_TRUE(f.WaitUntil("b", 1, State::kAvailable));
}

TEST(AspiredVersionsManagerTest, MemoryIsTrimmedAfterUnloads) {
  std::atomic<int> trims{0};
  Fixture f({.trim_memory = [&] { ++trims; }});
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  EXPECT_EQ(trims, 0);
  f.Aspire("m", {});
  EXPECT_TRUE(WaitUntil([&] { return trims == 1; }));
}

TEST(AspiredVersionsManagerTest, MemoryInUseIsThatOfVersionsThatAreLoadedOrLoading) {
  Fixture f({.max_load_retries = 0, .memory_limit = 1000});
  f.SetMemoryOfVersions(400);
  absl::Notification release;
  f.HoldLoadsOf("b", 1, &release);
  f.FailLoadsOf("c", 1, absl::DataLossError("torn"));
  f.Aspire("a", {1});
  ASSERT_TRUE(f.WaitUntil("a", 1, State::kAvailable));
  f.Aspire("c", {1});
  ASSERT_TRUE(f.WaitUntil("c", 1, State::kEnd));
  f.Aspire("b", {1});
  while (f.TriesOf("b", 1) < 1) absl::SleepFor(absl::Milliseconds(1));
  std::map<ServableId, MemoryEstimate> in_use = f.manager().MemoryInUse();
  EXPECT_EQ(in_use.size(), 2);
  EXPECT_EQ(in_use.at({"a", 1}).mapped, 400);
  EXPECT_EQ(in_use.at({"b", 1}).mapped, 400) << "while it is loading";
  release.Notify();
  ASSERT_TRUE(f.WaitUntil("b", 1, State::kAvailable));
  f.Aspire("a", {});
  ASSERT_TRUE(f.WaitUntil("a", 1, State::kEnd));
  in_use = f.manager().MemoryInUse();
  EXPECT_EQ(in_use.size(), 1);
  EXPECT_TRUE(in_use.contains({"b", 1}));
}

}  // namespace
}  // namespace tessera::serving
