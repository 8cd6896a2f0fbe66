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
int64_t PausesOfWork(bool requests_come) {
  const int64_t before = Pauses();
  const absl::Duration end = CpuTime() + absl::Milliseconds(40);
  while (CpuTime() < end) {
    if (requests_come) NoteRequest();
  }
  return Pauses() - before;
}

void ForgetRequests() {
  PacedScope scope;
  absl::SleepFor(absl::Milliseconds(200));
}

TEST(PaceTest, WorkPausesWhileRequestsCome) {
  ForgetRequests();
  PacedScope scope;
  EXPECT_LT(PausesOfWork(false), 5);
  EXPECT_GT(PausesOfWork(true), 50);
}

TEST(PaceTest, WorkOutsideOfScopesDoesNot) {
  { PacedScope scope; }
  EXPECT_LT(PausesOfWork(true), 5);
}

TEST(PaceTest, ScopesMayBeNested) {
  PacedScope outer;
  { PacedScope inner; }
  EXPECT_GT(PausesOfWork(true), 50);
}

TEST(PaceTest, IsTheThreadsOwn) {
  PacedScope scope;
  std::thread([] { EXPECT_LT(PausesOfWork(true), 5); }).join();
}

TEST(PaceTest, InterruptedCallsGoOn) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  NoteRequest();
  std::thread writer([&] {
    absl::SleepFor(absl::Milliseconds(50));
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  char byte = 0;
  {
    PacedScope scope;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  }
  EXPECT_EQ(byte, 'x');
  writer.join();
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tessera
