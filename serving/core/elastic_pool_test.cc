#include "serving/core/elastic_pool.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "runtime/host/core_set.h"
#include "runtime/host/pace.h"
#include "runtime/host/share.h"
#include "serving/core/testing/wait_until.h"

namespace tessera::serving {
namespace {

TEST(ElasticPoolTest, HasNoThreadsWithoutWork) {
  ElasticPool pool({.max_threads = 4, .idle_timeout = absl::Milliseconds(20)});
  EXPECT_EQ(pool.num_threads(), 0);
  absl::Notification done;
  pool.Schedule([&] { done.Notify(); });
  done.WaitForNotification();
  EXPECT_TRUE(WaitUntil([&] { return pool.num_threads() == 0; }));
}

// Lets the process have no more threads, in a process of its own, whose user it changes, because
// limits do not bind root. Returns the limit that it had.
rlimit RefuseThreads() {
  if (geteuid() == 0 && setuid(65534) != 0) _exit(0);
  rlimit threads;
  getrlimit(RLIMIT_NPROC, &threads);
  const rlimit none{.rlim_cur = 0, .rlim_max = threads.rlim_max};
  setrlimit(RLIMIT_NPROC, &none);
  return threads;
}

// Exits with 0 if a pool without threads runs its closures, one of which schedules another, and its
// destructor returns.
void RunsClosuresWithoutThreads() {
  std::atomic<int> ran = 0;
  {
    ElasticPool pool({.max_threads = 2});
    RefuseThreads();
    absl::BlockingCounter first(2);
    pool.Schedule([&] { first.DecrementCount(); });
    pool.Schedule([&] {
      pool.Schedule([&] { ++ran; });
      first.DecrementCount();
    });
    first.Wait();
    if (pool.num_threads() != 0) _exit(1);
    pool.Schedule([&] { ++ran; });
  }
  _exit(ran == 2 ? 0 : 2);
}

// Exits with 0 if the only thread is joined by a second one, whose closure waits behind the first,
// as soon as the system has it.
void AsksAgainForThreads() {
  ElasticPool pool({.max_threads = 2});
  absl::Notification started;
  absl::Notification release;
  pool.Schedule([&] {
    started.Notify();
    release.WaitForNotification();
  });
  started.WaitForNotification();
  const rlimit threads = RefuseThreads();
  pool.Schedule([&] { release.Notify(); });
  if (pool.num_threads() != 1 || pool.num_queued() != 1) _exit(1);
  setrlimit(RLIMIT_NPROC, &threads);
  release.WaitForNotification();
  _exit(0);
}

TEST(ElasticPoolDeathTest, RunsClosuresWithoutThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the process has the threads that pools share
  EXPECT_EXIT(RunsClosuresWithoutThreads(), ::testing::ExitedWithCode(0), "");
}

TEST(ElasticPoolDeathTest, AsksAgainForThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(AsksAgainForThreads(), ::testing::ExitedWithCode(0), "");
}

TEST(ElasticPoolTest, BlockedClosuresDoNotHoldUpOthersBelowTheLimit) {
  ElasticPool pool({.max_threads = 3});
  absl::Notification release;
  absl::BlockingCounter blocked(2);
  for (int i = 0; i < 2; ++i) {
    pool.Schedule([&] {
      blocked.DecrementCount();
      release.WaitForNotification();
    });
  }
  blocked.Wait();
  absl::Notification third;
  pool.Schedule([&] { third.Notify(); });
  third.WaitForNotification();
  EXPECT_EQ(pool.num_threads(), 3);
  release.Notify();
}

TEST(ElasticPoolTest, NeverExceedsItsLimit) {
  std::atomic<int> running{0}, most{0};
  {
    ElasticPool pool({.max_threads = 2});
    for (int i = 0; i < 50; ++i) {
      pool.Schedule([&] {
        const int now = ++running;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        absl::SleepFor(absl::Microseconds(200));
        --running;
      });
    }
  }
  EXPECT_LE(most, 2);
  EXPECT_EQ(running, 0) << "the destructor waits";
}

TEST(ElasticPoolTest, TheOnlyClosureOfAShareDoesNotWaitForOthers) {
  Share flood, polite;
  ElasticPool pool({.max_threads = 2});
  absl::Notification release;
  absl::BlockingCounter blocked(2);
  for (int i = 0; i < 10; ++i) {
    pool.Schedule(&flood, [&, i] {
      if (i < 2) blocked.DecrementCount();
      release.WaitForNotification();
    });
  }
  blocked.Wait();
  for (int i = 0; i < 3; ++i) {
    absl::Notification answered;
    pool.Schedule(&polite, [&] { answered.Notify(); });
    answered.WaitForNotification();
    while (pool.num_threads() > 2) absl::SleepFor(absl::Milliseconds(1));  // its thread ends
  }
  EXPECT_EQ(pool.num_queued(), 8);
  release.Notify();
}

TEST(ElasticPoolTest, SharesHaveTwiceTheThreadsAtMost) {
  constexpr int kShares = 20;
  std::vector<Share> shares(kShares);
  ElasticPool pool({.max_threads = 2});
  absl::Notification release;
  absl::BlockingCounter done(kShares);
  for (Share& share : shares) {
    pool.Schedule(&share, [&] {
      release.WaitForNotification();
      done.DecrementCount();
    });
  }
  EXPECT_EQ(pool.num_threads(), 4);
  release.Notify();
  done.Wait();
}

TEST(ElasticPoolTest, ThreadsStayOnTheGivenCores) {
  const CoreSet one = CoreSet::OfThisThread().Share(1e-9);
  CoreSet inside;
  {
    ElasticPool pool({.cores = one});
    pool.Schedule([&] { inside = CoreSet::OfThisThread(); });
  }
  EXPECT_EQ(inside, one);
}

TEST(ElasticPoolTest, ThreadsRunAtTheGivenPriority) {
  const int before = sched_getscheduler(0);
  int inside = -1;
  {
    ElasticPool pool({.priority = ThreadPriority::kIdle});
    pool.Schedule([&] { inside = sched_getscheduler(0); });
  }
  EXPECT_EQ(inside, SCHED_IDLE);
  EXPECT_EQ(sched_getscheduler(0), before);
}

TEST(ElasticPoolTest, RaisedLimitStartsWhatWaitsAndALoweredOneEndsThreads) {
  ElasticPool pool({.max_threads = 1});
  absl::Notification release;
  absl::BlockingCounter blocked(3);
  for (int i = 0; i < 3; ++i) {
    pool.Schedule([&] {
      blocked.DecrementCount();
      release.WaitForNotification();
    });
  }
  EXPECT_EQ(pool.num_threads(), 1);
  pool.set_max_threads(3);
  blocked.Wait();
  pool.set_max_threads(1);
  release.Notify();
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) {
    pool.Schedule([&] {
      ++ran;
      absl::SleepFor(absl::Microseconds(100));
    });
  }
  EXPECT_TRUE(WaitUntil([&] { return ran == 100; }));
  EXPECT_EQ(pool.num_threads(), 1);
}

TEST(ElasticPoolTest, ClosuresOfAPoolWithAPacerArePaced) {
  Pacer pacer;
  for (const bool has_pacer : {false, true}) {
    ElasticPool pool({.pacer = has_pacer ? &pacer : nullptr});
    absl::Notification done;
    pool.Schedule([&] {
      // What it has made of pauses once it has worked for 20 ms.
      rusage usage = {};
      while (absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime) <
             absl::Milliseconds(20)) {
        pacer.NoteRequest();
        getrusage(RUSAGE_THREAD, &usage);
      }
      EXPECT_EQ(usage.ru_nvcsw > 20, has_pacer) << usage.ru_nvcsw;
      done.Notify();
    });
    done.WaitForNotification();
  }
}

}  // namespace
}  // namespace tessera::serving
