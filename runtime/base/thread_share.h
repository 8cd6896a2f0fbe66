// Dividing a pool's threads between several long runs.
#pragma once

#include <atomic>

namespace tessera {

// While a scope exists, each parallel loop that the calling thread starts uses the threads of its
// pool divided by `*num_runs`, which other threads may change meanwhile. `num_runs` must outlive
// the scope. Scopes may be nested; the innermost one counts. The share belongs to the thread and
// not to the step, because the libraries whose products run on the pool (oneDNN, Eigen) ask for its
// number of threads where no step is known.
class ThreadShareScope {
 public:
  explicit ThreadShareScope(const std::atomic<int>* num_runs);
  ~ThreadShareScope();
  ThreadShareScope(const ThreadShareScope&) = delete;
  ThreadShareScope& operator=(const ThreadShareScope&) = delete;

 private:
  const std::atomic<int>* const outer_;
};

// Returns how many threads a loop of the calling thread may use on a pool of `threads` threads. The
// calling thread itself is counted, so this is at least 1.
int ThreadShare(int threads);

}  // namespace tessera
