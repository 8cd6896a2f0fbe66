// Work in the background: what must not take a core from whoever waits for an answer.
//
//   SetThreadPriority(ThreadPriority::kIdle);
//   BackgroundScope scope(&pool);   // a pool whose threads were started at that priority
//   session->Run(...);              // loops and branches of the run go to `pool`
#pragma once

namespace tessera {

class ThreadPool;

enum class ThreadPriority {
  kNormal,
  kLow,   // ten nice levels down: a tenth of a core beside busy threads
  kIdle,  // SCHED_IDLE: what others leave; gives way as soon as one of them wakes
};

// Lowers the calling thread; there is no way back. Threads that it starts are at its priority.
void SetThreadPriority(ThreadPriority priority);

// While one lives, what the calling thread gives to any ThreadPool runs on `pool` instead, and what
// that gives to pools in turn. `pool` must outlive all of it; null changes nothing.
class BackgroundScope {
 public:
  explicit BackgroundScope(ThreadPool* pool);
  ~BackgroundScope();
  BackgroundScope(const BackgroundScope&) = delete;
  BackgroundScope& operator=(const BackgroundScope&) = delete;

 private:
  ThreadPool* const outer_;
};

// The pool of the calling thread's innermost scope; null in the foreground.
ThreadPool* BackgroundPool();

// What BackgroundPool() returns, for ThreadPool, which looks at it in every loop.
extern constinit thread_local ThreadPool* background_pool;

}  // namespace tessera
