#include "runtime/host/yield_gate.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

#include "absl/time/time.h"
#include "runtime/base/loop_hooks.h"

namespace tessera {
namespace {

// Between two requests of one client, the threads that read and write them need a core.
constexpr int64_t kMomentNanos = 3'000'000;
// A thread that has worked for less goes on.
constexpr int64_t kLeastWorkNanos = 50'000;
// More than this is not held against a thread: it may have worked while nobody was preferred.
constexpr int64_t kMostWorkNanos = 1'000'000;
constexpr int64_t kPausePerWork = 9;

int64_t Nanos(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct ThreadState {
  bool has_core = false;
  int64_t worked = 0;  // the thread's own time when it last passed
};

thread_local ThreadState this_thread;

}  // namespace

void YieldGate::EndPreferred() {
  last_end_.store(Nanos(CLOCK_MONOTONIC), std::memory_order_relaxed);
  num_preferred_.fetch_sub(1, std::memory_order_relaxed);
  WakeOne();
}

void YieldGate::Pass() {
  int64_t now = Nanos(CLOCK_MONOTONIC);
  if (PreferredFor(now) == 0) return Leave();
  const int64_t worked =
      std::min(Nanos(CLOCK_THREAD_CPUTIME_ID) - this_thread.worked, kMostWorkNanos);
  if (this_thread.has_core) {
    if (worked < kLeastWorkNanos) return;
    num_taken_.fetch_sub(1, std::memory_order_relaxed);
  }
  const int64_t until = now + kPausePerWork * worked;
  while (!TakeCore()) {
    const int64_t pause = std::min(until - now, PreferredFor(now));
    if (pause <= 0) {
      num_taken_.fetch_add(1, std::memory_order_relaxed);
      break;
    }
    AwaitCore(pause);
    now = Nanos(CLOCK_MONOTONIC);
  }
  sched_yield();
  this_thread = {.has_core = true, .worked = Nanos(CLOCK_THREAD_CPUTIME_ID)};
}

void YieldGate::Leave() {
  if (!this_thread.has_core) return;
  this_thread.has_core = false;
  num_taken_.fetch_sub(1, std::memory_order_relaxed);
  WakeOne();
}

bool YieldGate::TakeCore() {
  int taken = num_taken_.load(std::memory_order_relaxed);
  do {
    const int preferred = std::max(1, num_preferred_.load(std::memory_order_relaxed));
    if (preferred + NumHelpingThreads() + taken >= num_cores_) return false;
  } while (!num_taken_.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed));
  return true;
}

void YieldGate::AwaitCore(int64_t nanoseconds) {
  num_waiting_.fetch_add(1, std::memory_order_relaxed);
  {
    absl::MutexLock lock(&mu_);
    core_left_.WaitWithTimeout(&mu_, absl::Nanoseconds(nanoseconds));
  }
  num_waiting_.fetch_sub(1, std::memory_order_relaxed);
}

// May miss a thread that is about to wait; it does not wait for long.
void YieldGate::WakeOne() {
  if (num_waiting_.load(std::memory_order_relaxed) == 0) return;
  absl::MutexLock lock(&mu_);
  core_left_.Signal();
}

int64_t YieldGate::PreferredFor(int64_t now) const {
  if (num_preferred_.load(std::memory_order_relaxed) > 0) return kMostWorkNanos * kPausePerWork;
  return std::max<int64_t>(0, last_end_.load(std::memory_order_relaxed) + kMomentNanos - now);
}

}  // namespace tessera
