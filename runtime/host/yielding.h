// Yielding work: requests of a model that floods the process, which give way to those of others.
//
//   YieldingPool pool(num_threads, num_cores);
//   YieldingScope scope(&pool);   // on a thread of low priority
//   session->Run(...);    // its parallel loops and branches go to the pool, of low priority too
//
// It is neither background work (background.h), which no request waits for, nor does it stand
// still: it keeps a tenth of the cores next to busy threads.
#pragma once

#include "absl/functional/function_ref.h"
#include "runtime/base/thread_pool.h"
#include "runtime/host/background.h"
#include "runtime/host/yield_gate.h"

namespace tessera {

// The threads for loops and branches of yielding work, and the gate before each piece of its loops.
// The threads are kLowNice levels below the thread that makes the pool.
class YieldingPool : public ThreadPool {
 public:
  // 0 threads: one for each core. The gate counts with `num_cores`.
  YieldingPool(int num_threads, int num_cores);

  // The gate, which a server tells of the requests that yielding work makes way for.
  YieldGate& gate() { return gate_; }

 private:
  YieldGate gate_;
};

// While a scope exists, what the calling thread gives to any ThreadPool runs on `pool` instead, as
// in a BackgroundScope, and the thread passes the pool's gate before each piece of a loop. `pool`
// must outlive the scope, and is not null.
class YieldingScope {
 public:
  explicit YieldingScope(YieldingPool* pool);
  ~YieldingScope();
  YieldingScope(const YieldingScope&) = delete;
  YieldingScope& operator=(const YieldingScope&) = delete;

 private:
  const BackgroundScope redirect_;
  YieldGate* const outer_;
};

// Whether the calling thread does yielding work.
bool Yields();

// Whether the calling thread does background work.
bool InBackground();

}  // namespace tessera
