#include "runtime/device/streams/stream_pool.h"

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(StreamPoolTest, TheStreamWithTheFewestUsersIsTaken) {
  StreamPool pool({nullptr, nullptr});
  EXPECT_EQ(pool.Take(), 0);
  EXPECT_EQ(pool.Take(), 1);
  pool.Use(0);
  EXPECT_EQ(pool.Take(), 1);
  pool.Give(0);
  pool.Give(0);
  EXPECT_EQ(pool.Take(), 0);
}

TEST(StreamPoolTest, OnlyTheOneUserGetsAStreamForItself) {
  StreamPool pool({nullptr, nullptr});
  pool.Use(0);
  pool.Use(0);
  EXPECT_FALSE(pool.TryBeginExclusive(0));
  pool.Give(0);
  EXPECT_TRUE(pool.TryBeginExclusive(0));
  EXPECT_FALSE(pool.TryBeginExclusive(0)) << "within the first";
  // Whoever may have any stream gets another one.
  EXPECT_EQ(pool.Take(), 1);
  EXPECT_EQ(pool.Take(), 1);
  pool.EndExclusive(0);
  EXPECT_TRUE(pool.TryBeginExclusive(0));
  pool.EndExclusive(0);
}

TEST(StreamPoolTest, OthersWaitForTheEnd) {
  StreamPool pool({nullptr});
  pool.Use(0);
  ASSERT_TRUE(pool.TryBeginExclusive(0));
  std::atomic<bool> has_ended = false;
  absl::Notification started[2];
  const auto wait = [&](int i, bool takes) {
    started[i].Notify();
    if (takes) {
      EXPECT_EQ(pool.Take(), 0);
    } else {
      pool.Use(0);
    }
    EXPECT_TRUE(has_ended);
  };
  std::thread taker(wait, 0, true), user(wait, 1, false);
  for (const absl::Notification& notification : started) notification.WaitForNotification();
  has_ended = true;
  pool.EndExclusive(0);
  taker.join();
  user.join();
  EXPECT_FALSE(pool.TryBeginExclusive(0)) << "three use it now";
}

}  // namespace
}  // namespace tessera
