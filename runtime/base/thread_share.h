// How many threads of a pool a loop may take when several long runs share the pool.
#pragma once

#include <atomic>

namespace tessera {

// While one lives, loops that the calling thread starts take a pool's threads divided by the number
// of runs that share them. The number may change meanwhile; `num_runs` must outlive this.
class ThreadShareScope {
 public:
  explicit ThreadShareScope(const std::atomic<int>* num_runs);
  ~ThreadShareScope();
  ThreadShareScope(const ThreadShareScope&) = delete;
  ThreadShareScope& operator=(const ThreadShareScope&) = delete;

 private:
  const std::atomic<int>* const outer_;
};

// How many of a pool's `threads` a loop of the calling thread may take, its own among them: at
// least one.
int ThreadShare(int threads);

}  // namespace tessera
