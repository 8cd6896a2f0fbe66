// ThreadPool: the work-stealing thread pool of Eigen behind two calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"

namespace tessera {

// Runs closures, and splits parallel loops, over a fixed number of threads.
//
//   ThreadPool pool({.name = "intra_op", .num_threads = 4});
//   pool.ParallelFor(rows, /*cost_per_item=*/500, [&](int64_t begin, int64_t end) { ... });
//
// Thread-safe. The destructor waits for the scheduled closures.
class ThreadPool {
 public:
  struct Options {
    // The name of the threads, as `top -H` shows it. It is cut after 15 characters.
    std::string name = "pool";
    // 0: one thread for each core.
    int num_threads = 0;
    // Added to the nice value of the threads. Where it is not 0, idle threads sleep at once instead
    // of spinning for a moment.
    int nice = 0;
    // Called for each closure and each share of a loop that comes here through pool_redirect; must
    // call its argument once. Null: they are called directly.
    void (*around_redirected)(absl::FunctionRef<void()> closure) = nullptr;
  };
  explicit ThreadPool(const Options& options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;

  // Runs `closure` on one of the pool's threads.
  void Schedule(std::function<void()> closure);

  // Calls body(begin, end) for disjoint ranges that cover [0, total), and returns when all calls
  // have returned. The calling thread takes part. `cost_per_item`, in nanoseconds, decides how many
  // threads the loop is split over: a loop shorter than about 10 us runs on the caller alone. May
  // be called from a thread of the pool. What `body` throws, on any thread, is thrown to the
  // caller.
  void ParallelFor(int64_t total, double cost_per_item,
                   absl::FunctionRef<void(int64_t begin, int64_t end)> body);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// ThreadPool::ParallelFor() for a pool that may be null. A null pool stands for the calling thread.
inline void ParallelFor(ThreadPool* pool, int64_t total, double cost_per_item,
                        absl::FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (pool == nullptr || total <= 1) {
    if (total > 0) body(0, total);
    return;
  }
  pool->ParallelFor(total, cost_per_item, body);
}

// The pool that takes over the closures and loops that the calling thread gives to any other pool;
// null, which is the default, if there is none. What runs there has the same redirect, and so have
// the closures that it schedules in turn. It is a thread-local variable because it follows a thread
// through code that knows nothing of it. BackgroundScope of runtime/host/background.h sets it.
extern constinit thread_local ThreadPool* pool_redirect;

}  // namespace tessera
