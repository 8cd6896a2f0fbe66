#include "runtime/base/cancellation.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"

namespace tessera {
namespace {

TEST(CancellationManagerTest, CallsEachCallbackOnce) {
  CancellationManager manager;
  int calls = 0;
  CancellationManager::Token first, second;
  ASSERT_TRUE(manager.Register([&] { ++calls; }, &first));
  ASSERT_TRUE(manager.Register([&] { calls += 10; }, &second));
  EXPECT_TRUE(manager.Deregister(second));
  manager.Cancel();
  manager.Cancel();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(manager.IsCancelled());
  EXPECT_FALSE(manager.Deregister(first));
  EXPECT_FALSE(manager.Register([] {}, &first));
}

TEST(CancellationManagerTest, DeregisterWaitsForARunningCallback) {
  CancellationManager manager;
  absl::Notification started, go_on;
  std::atomic<bool> finished = false;
  CancellationManager::Token token;
  ASSERT_TRUE(manager.Register(
      [&] {
        started.Notify();
        go_on.WaitForNotification();
        finished = true;
      },
      &token));
  std::thread canceller([&] { manager.Cancel(); });
  started.WaitForNotification();
  std::thread releaser([&] { go_on.Notify(); });
  EXPECT_FALSE(manager.Deregister(token));
  EXPECT_TRUE(finished);
  canceller.join();
  releaser.join();
}

}  // namespace
}  // namespace tessera
