// Work that stops so often that who waits for an answer hardly notices it.
//
//   NoteRequest();              // wherever a request comes in
//
//   PacedScope scope;           // on a thread of low priority
//   LoadModel();                // while requests come, works a fifth of the time
//
// A low priority is not enough. In traces of Linux's scheduler (EEVDF, since 6.6) a thread at
// SCHED_IDLE now and then takes the core from one that answers requests, until the next tick of the
// clock, up to 4 ms later: as if it were paid in one piece the small share that it is owed. A
// thread that leaves the core by itself is owed little.
#pragma once

#include <atomic>

namespace tessera {

namespace pace_internal {
extern std::atomic<bool> request_came;
void Enter();
void Leave();
}  // namespace pace_internal

// While one lives, the calling thread makes pauses, until no request has come for a tenth of a
// second; without requests it works as others do. A timer's signal makes them, wherever the thread
// is: in a library, in the middle of a loop. Calls to the system that it interrupts go on
// afterwards, but for those that signal(7) says never do. Scopes may be nested. Where the kernel
// has no such timer, there are no pauses.
class PacedScope {
 public:
  PacedScope() { pace_internal::Enter(); }
  ~PacedScope() { pace_internal::Leave(); }
  PacedScope(const PacedScope&) = delete;
  PacedScope& operator=(const PacedScope&) = delete;
};

// Costs a request a look at memory that is seldom written. Thread-safe.
inline void NoteRequest() {
  if (!pace_internal::request_came.load(std::memory_order_relaxed)) {
    pace_internal::request_came.store(true, std::memory_order_relaxed);
  }
}

}  // namespace tessera
