#include "runtime/host/yielding.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"

namespace tessera {
namespace {

constexpr int kHighestNice = 19;

int Nice() { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); }

TEST(YieldingTest, WorkForAnyPoolGoesToTheYieldingOneAndKnowsIt) {
  ThreadPool usual({.name = "usual", .num_threads = 1});
  YieldingPool pool(/*num_threads=*/1, /*num_cores=*/1);
  const int nice = Nice();
  absl::Notification done;
  {
    const YieldingScope scope(&pool);
    EXPECT_TRUE(Yields());
    EXPECT_FALSE(InBackground());
    usual.Schedule([&] {
      EXPECT_TRUE(Yields());
      EXPECT_FALSE(InBackground());
      EXPECT_EQ(Nice(), std::min(nice + kLowNice, kHighestNice));
      // What that schedules in turn is yielding work too.
      usual.Schedule([&] {
        EXPECT_TRUE(Yields());
        done.Notify();
      });
    });
    done.WaitForNotification();
  }
  EXPECT_FALSE(Yields());
}

TEST(YieldingTest, BackgroundWorkIsNotYieldingWork) {
  ThreadPool background({.name = "background", .num_threads = 1});
  const BackgroundScope scope(&background);
  EXPECT_TRUE(InBackground());
  EXPECT_FALSE(Yields());
}

}  // namespace
}  // namespace tessera
