#include "runtime/host/background.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"

namespace tessera {
namespace {

std::string ThreadName() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

// Names of the threads that ran a loop long enough for several.
std::set<std::string> ThreadsOfALoop(ThreadPool& pool) {
  absl::Mutex mu;
  std::set<std::string> names;
  pool.ParallelFor(64, 1e6, [&](int64_t, int64_t) {
    absl::MutexLock lock(&mu);
    names.insert(ThreadName());
  });
  return names;
}

TEST(BackgroundTest, PrioritiesAreTheThreadsOwnAndInherited) {
  std::thread([] {
    const auto self = static_cast<id_t>(syscall(SYS_gettid));
    const int before = getpriority(PRIO_PROCESS, self);
    SetThreadPriority(ThreadPriority::kLow);
    EXPECT_EQ(getpriority(PRIO_PROCESS, self), std::min(19, before + 10));
  }).join();
  const int own = sched_getscheduler(0);
  std::thread([] {
    SetThreadPriority(ThreadPriority::kIdle);
    std::thread([] { EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE); }).join();
  }).join();
  EXPECT_EQ(sched_getscheduler(0), own);
}

TEST(BackgroundTest, LoopsOfAScopeRunOnItsPoolAndTheCaller) {
  ThreadPool front({.name = "front", .num_threads = 3});
  ThreadPool back({.name = "back", .num_threads = 2});
  const std::string self = ThreadName();
  {
    BackgroundScope scope(&back);
    EXPECT_EQ(BackgroundPool(), &back);
    for (int i = 0; i < 20; ++i) {
      for (const std::string& name : ThreadsOfALoop(front)) {
        EXPECT_TRUE(name == "back" || name == self) << name;
      }
    }
  }
  EXPECT_EQ(BackgroundPool(), nullptr);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ThreadsOfALoop(front).count("back"), 0);
}

TEST(BackgroundTest, WhatAScopeSchedulesStaysInTheBackground) {
  ThreadPool front({.name = "front", .num_threads = 2});
  ThreadPool back({.name = "back", .num_threads = 2});
  absl::BlockingCounter done(2);
  {
    BackgroundScope scope(&back);
    front.Schedule([&] {
      EXPECT_EQ(ThreadName(), "back");
      EXPECT_EQ(BackgroundPool(), &back);
      front.Schedule([&] {
        EXPECT_EQ(ThreadName(), "back");
        done.DecrementCount();
      });
      done.DecrementCount();
    });
  }
  done.Wait();
}

TEST(BackgroundTest, ScopesNestAndNullChangesNothing) {
  ThreadPool a({.num_threads = 1}), b({.num_threads = 1});
  BackgroundScope outer(&a);
  {
    BackgroundScope inner(&b);
    EXPECT_EQ(BackgroundPool(), &b);
    BackgroundScope none(nullptr);
    EXPECT_EQ(BackgroundPool(), &b);
  }
  EXPECT_EQ(BackgroundPool(), &a);
}

}  // namespace
}  // namespace tessera
