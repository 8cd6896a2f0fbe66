#include "runtime/host/pace.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

absl::Duration CpuTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

int64_t Pauses() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// How often the thread leaves its core of its own accord in 40 ms of work, during which requests
// come or do not.
int64_t PausesOfWork(Pacer& pacer, bool requests_come) {
  const int64_t before = Pauses();
  const absl::Duration end = CpuTime() + absl::Milliseconds(40);
  while (CpuTime() < end) {
    if (requests_come) pacer.NoteRequest();
  }
  return Pauses() - before;
}

TEST(PaceTest, WorkPausesWhileRequestsCome) {
  Pacer pacer;
  PacedScope scope(&pacer);
  EXPECT_LT(PausesOfWork(pacer, false), 5);
  EXPECT_GT(PausesOfWork(pacer, true), 50);
}

TEST(PaceTest, WorkOutsideOfScopesDoesNot) {
  Pacer pacer;
  { PacedScope scope(&pacer); }
  EXPECT_LT(PausesOfWork(pacer, true), 5);
}

TEST(PaceTest, ScopesMayBeNested) {
  Pacer pacer;
  PacedScope outer(&pacer);
  { PacedScope inner(&pacer); }
  EXPECT_GT(PausesOfWork(pacer, true), 50);
}

TEST(PaceTest, PacersDoNotKnowOfEachOthersRequests) {
  Pacer pacer, other;
  PacedScope scope(&pacer);
  EXPECT_LT(PausesOfWork(other, true), 5);
  {
    PacedScope inner(&other);
    EXPECT_GT(PausesOfWork(other, true), 50);
  }
  EXPECT_GT(PausesOfWork(pacer, true), 50);
}

TEST(PaceTest, IsTheThreadsOwn) {
  Pacer pacer;
  PacedScope scope(&pacer);
  std::thread([&] { EXPECT_LT(PausesOfWork(pacer, true), 5); }).join();
}

TEST(PaceTest, InterruptedCallsGoOn) {
  Pacer pacer;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pacer.NoteRequest();
  std::thread writer([&] {
    absl::SleepFor(absl::Milliseconds(50));
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  char byte = 0;
  {
    PacedScope scope(&pacer);
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  }
  EXPECT_EQ(byte, 'x');
  writer.join();
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tessera
