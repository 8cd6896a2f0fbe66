// Pacing: background threads that pause so often that requests hardly notice them.
//
//   NoteRequest();              // for each request that comes in
//
//   PacedScope scope;           // on a thread of low priority
//   LoadModel();                // works a fifth of the time while requests come
//
// A low priority is not enough. Linux's scheduler (EEVDF, since 6.6) sometimes lets a SCHED_IDLE
// thread take the core from a thread that answers a request, and gives it back at the next tick
// only, up to 4 ms later: the idle thread gets in one piece the small share of time that the
// scheduler owes it. A thread that sleeps regularly is owed little.
//
// The time of the last request and the signal handler that makes the pauses are those of the whole
// process: a handler belongs to a process, and is called without arguments of ours.
#pragma once

#include <atomic>

#include "absl/functional/function_ref.h"

namespace tessera {

namespace pace_internal {
extern std::atomic<bool> request_came;
void Enter();
void Leave();
}  // namespace pace_internal

// While a scope exists, the calling thread pauses regularly, until no request has come for 100 ms;
// without requests it works at full speed. The signal of a timer makes the pauses, so that they
// also happen inside libraries and in the middle of loops. System calls that the signal interrupts
// are restarted, except those that signal(7) says are never restarted. Scopes may be nested. On a
// kernel without such timers there are no pauses.
class PacedScope {
 public:
  PacedScope() { pace_internal::Enter(); }
  ~PacedScope() { pace_internal::Leave(); }
  PacedScope(const PacedScope&) = delete;
  PacedScope& operator=(const PacedScope&) = delete;
};

// Calls `closure` inside a PacedScope. For ThreadPool::Options::around_redirected.
void RunPaced(absl::FunctionRef<void()> closure);

// Tells all paced threads that a request has come. Cheap: in most calls it only reads a variable
// that is rarely written. Thread-safe.
inline void NoteRequest() {
  if (!pace_internal::request_came.load(std::memory_order_relaxed)) {
    pace_internal::request_came.store(true, std::memory_order_relaxed);
  }
}

}  // namespace tessera
