#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/core/manager.h"
#include "serving/core/testing/manager_fixture.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;

TEST(AspiredVersionsManagerTest, FailedVersionIsRetriedWhenItsRevisionChanges) {
  Fixture f({.max_load_retries = 0});
  f.FailLoadsOf("m", 1, absl::InternalError("x"));
  f.Aspire("m", {1}, 7);
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  f.FailLoadsOf("m", 1, absl::OkStatus());
  f.Aspire("m", {1}, 8);
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
}

TEST(AspiredVersionsManagerTest, NewRevisionEndsThePauseBetweenTries) {
  Fixture f({.load_retry_interval = absl::Hours(1)});
  f.FailLoadsOf("m", 1, absl::InternalError("x"));
  f.Aspire("m", {1}, 7);
  while (f.TriesOf("m", 1) < 1) absl::SleepFor(absl::Milliseconds(1));
  f.FailLoadsOf("m", 1, absl::OkStatus());
  // It may not have come to the pause yet when the first of these is told.
  for (uint64_t revision = 8; f.StateOf("m", 1) != State::kAvailable; ++revision) {
    f.Aspire("m", {1}, revision);
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_TRUE(f.Acquire("m").ok());
}

TEST(AspiredVersionsManagerTest, VersionWhoseFilesChangeWhileItIsLoadedIsLoadedAgain) {
  for (const bool fails : {false, true}) {
    Fixture f({.max_load_retries = 0});
    absl::Notification release;
    f.HoldLoadsOf("m", 1, &release);
    if (fails) f.FailLoadsOf("m", 1, absl::DataLossError("torn"));
    f.Aspire("m", {1}, 7);
    while (f.TriesOf("m", 1) < 1) absl::SleepFor(absl::Milliseconds(1));
    f.Aspire("m", {1}, 8);
    f.FailLoadsOf("m", 1, absl::OkStatus());
    release.Notify();
    ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
    EXPECT_EQ(f.TriesOf("m", 1), 2);
    EXPECT_THAT(f.History("m"), ElementsAre("1 START", "1 LOADING", "1 AVAILABLE"));
  }
}

TEST(AspiredVersionsManagerTest, ReadyVersionIsNotReloadedForANewRevision) {
  Fixture f;
  f.Aspire("m", {1}, 7);
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  f.Aspire("m", {1}, 8);
  ASSERT_TRUE(f.AwaitItsTurn());
  EXPECT_EQ(f.TriesOf("m", 1), 1);
  EXPECT_EQ(f.StateOf("m", 1), State::kAvailable);
}

TEST(AspiredVersionsManagerTest, VersionOnALostDeviceIsUnavailableAndOthersGoOn) {
  Fixture f({.health_interval = absl::Milliseconds(5)});
  f.Aspire("m", {1}, 7);
  f.Aspire("other", {1}, 7);
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  ASSERT_TRUE(f.WaitUntil("other", 1, State::kAvailable));
  {
    absl::MutexLock lock(&f.faults.mu);
    f.faults.damage[{"m", 1}] = absl::UnavailableError("GPU:0 is lost");
  }
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  EXPECT_EQ(f.Acquire("m").status(), absl::UnavailableError("GPU:0 is lost"));
  EXPECT_TRUE(f.Acquire("other").ok());
}

TEST(AspiredVersionsManagerTest, DamagedVersionIsTakenOutAndLoadedAnewWhenItsFilesChange) {
  Fixture f({.health_interval = absl::Milliseconds(5)});
  f.Aspire("m", {1}, 7);
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  {
    absl::MutexLock lock(&f.faults.mu);
    f.faults.damage[{"m", 1}] = absl::DataLossError("file cut");
  }
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  EXPECT_EQ(f.StatusOf("m", 1), absl::DataLossError("file cut"));
  EXPECT_TRUE(absl::IsNotFound(f.Acquire("m").status()));
  {
    absl::MutexLock lock(&f.faults.mu);
    f.faults.damage.clear();
  }
  f.Aspire("m", {1}, 8);
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
}

}  // namespace
}  // namespace tessera::serving
