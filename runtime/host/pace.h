// Pacing: background threads that pause so often that requests hardly notice them.
//
//   Pacer pacer;
//   pacer.NoteRequest();          // for each request that comes in
//
//   PacedScope scope(&pacer);     // on a thread of low priority
//   LoadModel();                  // works a fifth of the time while requests come
//
// A low priority is not enough. Linux's scheduler (EEVDF, since 6.6) sometimes lets a SCHED_IDLE
// thread take the core from a thread that answers a request, and gives it back at the next tick
// only, up to 4 ms later: the idle thread gets in one piece the small share of time that the
// scheduler owes it. A thread that sleeps regularly is owed little.
//
// The signal handler that makes the pauses is installed once and for the whole process, since a
// handler belongs to a process. It finds the pacer of its thread in a thread-local variable.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera {

// Knows whether requests are coming. Thread-safe.
class Pacer {
 public:
  Pacer() = default;
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // Tells the threads that this pacer paces that a request has come. Cheap: in most calls it only
  // reads a variable that is rarely written.
  void NoteRequest() {
    if (!request_came_.load(std::memory_order_relaxed)) {
      request_came_.store(true, std::memory_order_relaxed);
    }
  }

  // Returns whether a request has come in the last 100 ms, at the precision of the calls of this
  // function. May be called by a signal handler.
  bool RequestsCome();

 private:
  std::atomic<bool> request_came_{false};
  std::atomic<int64_t> last_request_{INT64_MIN / 2};  // when RequestsCome() last saw one
};

// While a scope exists, the calling thread pauses regularly, until no request has come for 100 ms;
// without requests it works at full speed. The signal of a timer makes the pauses, so that they
// also happen inside libraries and in the middle of loops. System calls that the signal interrupts
// are restarted, except those that signal(7) says are never restarted. Scopes may be nested; the
// innermost pacer counts. On a kernel without such timers there are no pauses.
class PacedScope {
 public:
  // `pacer` must outlive the scope.
  explicit PacedScope(Pacer* pacer);
  ~PacedScope();
  PacedScope(const PacedScope&) = delete;
  PacedScope& operator=(const PacedScope&) = delete;

 private:
  Pacer* const outer_;
};

}  // namespace tessera
