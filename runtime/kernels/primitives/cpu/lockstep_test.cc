#include "runtime/kernels/primitives/cpu/lockstep.h"

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"

namespace tessera {
namespace {

constexpr double kLong = 1e6;  // nanoseconds, so that every thread is asked to help

// Each share of a step adds up what all shares wrote in the step before.
std::vector<int64_t> SumsOfSums(KernelContext& ctx, int64_t steps, int64_t shares) {
  std::vector<int64_t> values[2] = {std::vector<int64_t>(shares, 1), std::vector<int64_t>(shares)};
  RunInLockstep(ctx, steps, shares, kLong, [&](int64_t step, int64_t share) {
    int64_t sum = share;
    for (const int64_t value : values[step % 2]) sum = (sum * 31 + value) % 1'000'003;
    values[(step + 1) % 2][share] = sum;
  });
  return values[steps % 2];
}

TEST(LockstepTest, StepsSeeWhatAllSharesOfTheOneBeforeWrote) {
  StepContext alone_step, step;
  KernelContext alone(alone_step, nullptr);
  ThreadPool pool({.name = "lockstep", .num_threads = 4});
  step.intra_op_pool = &pool;
  KernelContext ctx(step, nullptr);
  for (const int64_t steps : {0, 1, 2, 3000}) {
    for (const int64_t shares : {1, 2, 3, 8}) {
      EXPECT_EQ(SumsOfSums(ctx, steps, shares), SumsOfSums(alone, steps, shares))
          << steps << " steps of " << shares << " shares";
    }
  }
}

TEST(LockstepTest, SharesOfThreadsThatDoNotComeAreComputed) {
  ThreadPool pool({.name = "busy", .num_threads = 2});
  absl::BlockingCounter started(2);
  absl::Notification release;
  for (int i = 0; i < 2; ++i) {
    pool.Schedule([&] {
      started.DecrementCount();
      release.WaitForNotification();
    });
  }
  started.Wait();
  StepContext step;
  step.intra_op_pool = &pool;
  KernelContext ctx(step, nullptr);
  std::atomic<int> calls = 0;
  RunInLockstep(ctx, 10, 3, kLong, [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, 30);
  release.Notify();
}

TEST(LockstepTest, SeveralLoopsShareAPool) {
  ThreadPool pool({.name = "shared", .num_threads = 2});
  StepContext alone_step;
  KernelContext alone(alone_step, nullptr);
  const std::vector<int64_t> expected = SumsOfSums(alone, 500, 3);
  std::vector<std::thread> threads;
  std::atomic<int> correct = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      StepContext step;
      step.intra_op_pool = &pool;
      KernelContext ctx(step, nullptr);
      correct += SumsOfSums(ctx, 500, 3) == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(correct, 4);
}

}  // namespace
}  // namespace tessera
