#include "runtime/base/thread_pool.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/loop_hooks.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace tessera {
namespace {

constexpr double kExpensive = 1e6;  // nanoseconds an item: worth a thread each

TEST(ThreadPoolTest, LoopsCoverEachItemOnce) {
  ThreadPool pool({.num_threads = 4});
  for (const int64_t total : {1, 2, 3, 7, 64, 1000, 99991}) {
    for (const double cost : {0.0, 1.0, 100.0, kExpensive}) {
      std::vector<std::atomic<int>> seen(total);
      pool.ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
        ASSERT_LE(0, begin);
        ASSERT_LT(begin, end);
        ASSERT_LE(end, total);
        for (int64_t i = begin; i < end; ++i) seen[i].fetch_add(1);
      });
      for (const auto& count : seen) ASSERT_EQ(count.load(), 1) << total << " at " << cost;
    }
  }
}

// 14 items, of which one of two threads had 8, ended later than 7 and 7 would have.
TEST(ThreadPoolTest, EachThreadHasAsManyItems) {
  constexpr int kThreads = 2;
  ThreadPool pool({.num_threads = kThreads});
  for (const int64_t total : {5, 9, 10, 14, 49, 1000}) {
    for (const double cost : {5e3, 1e4, kExpensive}) {
      SCOPED_TRACE(testing::Message() << total << " at " << cost);
      std::mutex mu;
      std::map<int64_t, int64_t> blocks;  // end by begin
      pool.ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
        std::lock_guard<std::mutex> lock(mu);
        blocks[begin] = end;
      });
      const int64_t count = blocks.size();
      for (const auto& [begin, end] : blocks) EXPECT_NEAR(end - begin, total / count, 1);
      if (count < total) {
        EXPECT_EQ(count % kThreads, 0);
      }
    }
  }
}

TEST(ThreadPoolTest, EmptyLoopsCallNothing) {
  ThreadPool pool({.num_threads = 2});
  for (const int64_t total : {int64_t{0}, int64_t{-1}}) {
    pool.ParallelFor(total, kExpensive, [](int64_t, int64_t) { FAIL(); });
    ParallelFor(nullptr, total, kExpensive, [](int64_t, int64_t) { FAIL(); });
  }
}

TEST(ThreadPoolTest, CheapLoopsStayOnTheCallerAndAllocateNothing) {
  ThreadPool pool({.num_threads = 4});
  const auto caller = std::this_thread::get_id();
  const int64_t before = allocations.load();
  int calls = 0;
  pool.ParallelFor(1000, /*cost_per_item=*/1, [&](int64_t begin, int64_t end) {
    ++calls;
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 1000);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(allocations.load(), before);
}

TEST(ThreadPoolTest, ExpensiveLoopsUseSeveralThreads) {
  ThreadPool pool({.num_threads = 3});
  // Three items that each wait for the others: they end only if three threads take part.
  std::atomic<int> arrived{0};
  pool.ParallelFor(3, kExpensive, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++arrived;
      while (arrived.load() < 3) std::this_thread::yield();
    }
  });
}

TEST(ThreadPoolTest, CallersGetTheExceptionsOfLoops) {
  ThreadPool pool({.num_threads = 4});
  for (const double cost : {0.0, kExpensive}) {
    for (const int64_t bad : {0, 7, 15}) {
      std::atomic<int> calls{0};
      const auto run = [&] {
        pool.ParallelFor(16, cost, [&](int64_t begin, int64_t end) {
          ++calls;
          if (begin <= bad && bad < end) throw std::bad_alloc();
        });
      };
      EXPECT_THROW(run(), std::bad_alloc);
      EXPECT_GT(calls, 0);
    }
  }
  std::atomic<int> items{0};
  pool.ParallelFor(16, kExpensive,
                   [&](int64_t begin, int64_t end) { items += static_cast<int>(end - begin); });
  EXPECT_EQ(items, 16) << "of a loop after those that failed";
}

TEST(ThreadPoolTest, LoopsNestWithoutDeadlock) {
  ThreadPool pool({.num_threads = 2});
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(8, kExpensive, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      pool.ParallelFor(8, kExpensive, [&](int64_t b, int64_t e) {
        pool.ParallelFor(e - b, kExpensive, [&](int64_t bb, int64_t ee) { sum += ee - bb; });
      });
    }
  });
  EXPECT_EQ(sum.load(), 64);
}

TEST(ThreadPoolTest, LoopsEndWhileEveryThreadIsBusy) {
  std::atomic<bool> released{false};
  ThreadPool pool({.num_threads = 2});
  for (int i = 0; i < 2; ++i) pool.Schedule([&] { released.wait(false); });
  std::atomic<int64_t> sum{0};
  // Helpers are queued behind the closures; the caller does the work alone and does not wait.
  pool.ParallelFor(100, kExpensive, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum.load(), 100);
  released = true;
  released.notify_all();
}

TEST(ThreadPoolTest, ManyCallersShareThePool) {
  ThreadPool pool({.num_threads = 2});
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        pool.ParallelFor(16, kExpensive, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 4 * 500 * 16);
}

// Threads that have helped with a loop look for the next one; what is scheduled meanwhile comes
// first.
TEST(ThreadPoolTest, LoopsInQuickSuccessionAndClosuresBetweenAllRun) {
  ThreadPool pool({.num_threads = 3});
  constexpr int kCallers = 3, kLoops = 2000, kItems = 12;
  std::atomic<int64_t> items{0};
  std::atomic<int> closures{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < kLoops; ++i) {
        pool.ParallelFor(kItems, kExpensive,
                         [&](int64_t begin, int64_t end) { items += end - begin; });
        if (i % 16 == 0) pool.Schedule([&] { ++closures; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(items.load(), int64_t{kCallers} * kLoops * kItems);
  while (closures.load() < kCallers * kLoops / 16) std::this_thread::yield();
}

TEST(ThreadPoolTest, DestructorWaitsForClosures) {
  std::atomic<int> done{0};
  {
    ThreadPool pool({.num_threads = 2});
    for (int i = 0; i < 100; ++i) pool.Schedule([&] { ++done; });
  }
  EXPECT_EQ(done.load(), 100);
}

TEST(ThreadPoolTest, ThreadsAreNamedAndNice) {
  std::atomic<bool> done{false};
  ThreadPool pool({.name = "a_name_that_is_too_long", .num_threads = 1, .nice = 3});
  EXPECT_EQ(pool.num_threads(), 1);
  const int own = getpriority(PRIO_PROCESS, 0);
  char name[32] = "";
  int nice = 0;
  pool.Schedule([&] {
    pthread_getname_np(pthread_self(), name, sizeof(name));
    nice = getpriority(PRIO_PROCESS, 0);
    done = true;
    done.notify_one();
  });
  done.wait(false);
  EXPECT_STREQ(name, "a_name_that_is_");
  EXPECT_EQ(nice, std::min(own + 3, 19));
}

TEST(ThreadPoolTest, DefaultIsAThreadACore) {
  ThreadPool pool({});
  EXPECT_EQ(pool.num_threads(), static_cast<int>(std::thread::hardware_concurrency()));
}

// Counts calls on all threads.
std::atomic<int> num_around{0};
void CountAround(absl::FunctionRef<void()> closure) {
  num_around.fetch_add(1);
  closure();
}

TEST(ThreadPoolTest, RedirectedClosuresRunInsideWhatTheOtherPoolPutsAroundThem) {
  num_around = 0;
  {
    ThreadPool other({.num_threads = 2, .nice = 1, .around_redirected = CountAround});
    ThreadPool pool({.num_threads = 2});
    pool.Schedule([] { EXPECT_EQ(pool_redirect, nullptr); });
    other.Schedule([] { EXPECT_EQ(pool_redirect, nullptr); });
    pool_redirect = &other;
    pool.Schedule([&other] { EXPECT_EQ(pool_redirect, &other); });
    pool.ParallelFor(64, kExpensive,
                     [&other](int64_t, int64_t) { EXPECT_EQ(pool_redirect, &other); });
    pool_redirect = nullptr;
  }
  EXPECT_EQ(num_around, 2) << "of the scheduled closure and of the loop's one helper";
}

thread_local int num_pieces = 0;

void CountPiece() { ++num_pieces; }

TEST(ThreadPoolTest, RedirectedLoopsCallTheHookBeforeEachPiece) {
  ThreadPool other({.name = "other", .num_threads = 1});
  ThreadPool pool({.num_threads = 1});
  std::vector<int> runs(64, 0);
  const auto run = [&](double cost_per_item) {
    num_pieces = 0;
    pool.ParallelFor(64, cost_per_item, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++runs[i];
    });
    return num_pieces;
  };
  before_loop_piece = CountPiece;
  EXPECT_EQ(run(50e3), 0) << "nothing is redirected";
  pool_redirect = &other;
  EXPECT_EQ(run(50e3), 32) << "pieces of two items of 50 us";
  EXPECT_EQ(run(1e9), 64) << "single items";
  EXPECT_EQ(run(1), 1);
  EXPECT_EQ(run(0), 1);
  EXPECT_EQ(run(std::nan("")), 1);
  before_loop_piece = nullptr;
  EXPECT_EQ(run(50e3), 0);
  pool_redirect = nullptr;
  EXPECT_THAT(runs, testing::Each(7));
}

TEST(ThreadPoolTest, CountsThreadsThatHelp) {
  ThreadPool pool({.num_threads = 2});
  EXPECT_EQ(NumHelpingThreads(), 0);
  std::atomic<int> most = 0;
  // The helper may come late, or never if the caller is through before.
  while (most == 0) {
    pool.ParallelFor(64, kExpensive,
                     [&](int64_t, int64_t) { most = std::max<int>(most, NumHelpingThreads()); });
  }
  // Beside the one that helps, another one may still wait for a loop.
  EXPECT_LE(most, 2);
  while (NumHelpingThreads() > 0) std::this_thread::yield();
}

}  // namespace
}  // namespace tessera
