// Background work: work that must not take a core from a request.
//
//   SetThreadPriority(ThreadPriority::kIdle);
//   BackgroundScope scope(&pool);   // a pool whose threads were started at that priority
//   session->Run(...);              // the parallel loops and branches of the run go to `pool`
#pragma once

namespace tessera {

class ThreadPool;

inline constexpr int kLowNice = 10;

enum class ThreadPriority {
  kNormal,
  kLow,   // kLowNice levels down: a tenth of a core next to busy threads.
  kIdle,  // SCHED_IDLE: the thread runs only while no other thread wants its core.
};

// Lowers the priority of the calling thread. There is no way back. Threads that it starts later
// inherit the priority.
void SetThreadPriority(ThreadPriority priority);

// While a scope exists, closures and parallel loops that the calling thread gives to any ThreadPool
// run on `pool` instead, and so does everything that those give to a ThreadPool in turn. `pool`
// must outlive all of that work. A null pool changes nothing. Scopes may be nested.
class BackgroundScope {
 public:
  explicit BackgroundScope(ThreadPool* pool);
  ~BackgroundScope();
  BackgroundScope(const BackgroundScope&) = delete;
  BackgroundScope& operator=(const BackgroundScope&) = delete;

 private:
  ThreadPool* const outer_;
};

// Returns the pool of the calling thread's innermost scope; null outside of all scopes.
ThreadPool* BackgroundPool();

}  // namespace tessera
