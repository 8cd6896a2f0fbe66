#include "runtime/host/yield_gate.h"

#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <thread>

#include "gtest/gtest.h"

namespace {
thread_local int offers = 0;
}  // namespace

// Takes the place of the C library's.
extern "C" int sched_yield() noexcept {
  ++offers;
  return 0;
}

namespace tessera {
namespace {

int64_t Nanos(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void Work(int64_t nanoseconds) {
  const int64_t end = Nanos(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
  while (Nanos(CLOCK_THREAD_CPUTIME_ID) < end) continue;
}

// Returns whether the calling thread slept in a Pass() of the gate.
bool Sleeps(YieldGate& gate) {
  const auto sleeps = [] {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  };
  const auto before = sleeps();
  gate.Pass();
  return sleeps() > before;
}

void OnAnotherThread(const std::function<void()>& function) { std::thread(function).join(); }

TEST(YieldGateTest, NobodySleepsWithoutPreferredRequests) {
  YieldGate gate(1);
  for (int i = 0; i < 3; ++i) {
    Work(100'000);
    EXPECT_FALSE(Sleeps(gate));
  }
  EXPECT_EQ(offers, 0);
}

TEST(YieldGateTest, WhoFindsNoCoreLeftSleepsNineTimesAsLongAsItWorked) {
  YieldGate gate(1);
  gate.BeginPreferred();
  OnAnotherThread([&] {
    gate.Pass();
    for (int i = 0; i < 3; ++i) {
      const int64_t begin = Nanos(CLOCK_MONOTONIC);
      Work(200'000);
      EXPECT_TRUE(Sleeps(gate));
      EXPECT_GE(Nanos(CLOCK_MONOTONIC) - begin, 10 * 200'000);
    }
    gate.Leave();
  });
}

TEST(YieldGateTest, OnlyWhatItWorkedLastIsHeldAgainstAThread) {
  YieldGate gate(1);
  OnAnotherThread([&] {
    Work(5'000'000);
    gate.BeginPreferred();
    gate.Pass();
    EXPECT_FALSE(Sleeps(gate)) << "it has not worked since";
    gate.Leave();
  });
}

TEST(YieldGateTest, CoresAreLeftThatNoPreferredRequestNeeds) {
  YieldGate gate(3);
  gate.BeginPreferred();
  OnAnotherThread([&] {
    Work(100'000);
    EXPECT_FALSE(Sleeps(gate));
    OnAnotherThread([&] {
      Work(100'000);
      EXPECT_FALSE(Sleeps(gate));
      OnAnotherThread([&] {
        Work(100'000);
        EXPECT_TRUE(Sleeps(gate)) << "the third core is that of the preferred request";
        gate.Leave();
      });
      gate.Leave();
      gate.BeginPreferred();
      OnAnotherThread([&] {
        Work(100'000);
        EXPECT_TRUE(Sleeps(gate)) << "two requests and a thread have the three cores";
        gate.Leave();
      });
    });
    gate.Leave();
  });
}

TEST(YieldGateTest, WhoHasACoreOffersItAfterEachPieceOfWork) {
  YieldGate gate(2);
  gate.BeginPreferred();
  OnAnotherThread([&] {
    gate.Pass();
    EXPECT_EQ(offers, 1);
    for (int i = 0; i < 3; ++i) gate.Pass();
    EXPECT_EQ(offers, 1) << "after nothing";
    for (int i = 0; i < 3; ++i) {
      Work(100'000);
      EXPECT_FALSE(Sleeps(gate));
    }
    EXPECT_EQ(offers, 4);
    gate.Leave();
  });
}

TEST(YieldGateTest, PreferredRequestsCountForAMomentAfterTheirEnd) {
  YieldGate gate(1);
  gate.BeginPreferred();
  OnAnotherThread([&] {
    const int64_t begin = Nanos(CLOCK_MONOTONIC);
    gate.EndPreferred();
    Work(1'000'000);
    const bool slept = Sleeps(gate);
    // The machine may have taken the moment for something else.
    EXPECT_TRUE(slept || Nanos(CLOCK_MONOTONIC) - begin >= 3'000'000);
    while (Nanos(CLOCK_MONOTONIC) - begin < 3'000'000) continue;
    Work(100'000);
    EXPECT_FALSE(Sleeps(gate));
  });
}

}  // namespace
}  // namespace tessera
