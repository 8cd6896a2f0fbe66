// Yielding work: requests of a model that floods the process, which give way to those of others.
//
//   YieldingScope scope(host->yielding_pool());   // on a thread of low priority
//   session->Run(...);    // its parallel loops and branches go to the pool, of low priority too
//
// It is neither background work (background.h), which no request waits for, nor does it stand
// still: ten nice levels down, it keeps a tenth of the cores next to busy threads.
#pragma once

#include "absl/functional/function_ref.h"
#include "runtime/host/background.h"

namespace tessera {

class ThreadPool;

// While a scope exists, what the calling thread gives to any ThreadPool runs on `pool` instead, as
// in a BackgroundScope. The pool must be one whose Options have RunYielding() as around_redirected.
class YieldingScope {
 public:
  explicit YieldingScope(ThreadPool* pool);
  ~YieldingScope();
  YieldingScope(const YieldingScope&) = delete;
  YieldingScope& operator=(const YieldingScope&) = delete;

 private:
  const BackgroundScope redirect_;
};

// For ThreadPool::Options::around_redirected.
void RunYielding(absl::FunctionRef<void()> closure);

// Whether the calling thread does yielding work.
bool Yields();

// Whether the calling thread does background work.
bool InBackground();

}  // namespace tessera
