// The runtime's thread pool: work-stealing queues of Eigen's pool behind two calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"

namespace tessera {

// Runs closures and splits loops over a fixed number of threads.
//
//   ThreadPool pool({.name = "intra_op", .num_threads = 4});
//   pool.ParallelFor(rows, /*cost_per_item=*/500, [&](int64_t begin, int64_t end) { ... });
//
// Thread-safe. The destructor waits for scheduled closures.
class ThreadPool {
 public:
  struct Options {
    std::string name = "pool";  // shown by top -H, cut at 15 characters
    int num_threads = 0;        // 0: one for each core
    int nice = 0;               // added to the threads' nice value; loading runs at a higher one
  };
  explicit ThreadPool(const Options& options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;

  // Runs `closure` on some thread of the pool.
  void Schedule(std::function<void()> closure);

  // Calls body(begin, end) for disjoint ranges that cover [0, total), the caller's thread taking
  // part, and returns when all are done. `cost_per_item` in nanoseconds decides how many threads a
  // range is worth; a loop of less than some ten microseconds runs on the caller alone. May be
  // called from within the pool. `body` must not throw.
  void ParallelFor(int64_t total, double cost_per_item,
                   absl::FunctionRef<void(int64_t begin, int64_t end)> body);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Body of ParallelFor without a pool: one call on this thread. Lets kernels take a null pool.
inline void ParallelFor(ThreadPool* pool, int64_t total, double cost_per_item,
                        absl::FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (pool == nullptr || total <= 1) {
    if (total > 0) body(0, total);
    return;
  }
  pool->ParallelFor(total, cost_per_item, body);
}

}  // namespace tessera
