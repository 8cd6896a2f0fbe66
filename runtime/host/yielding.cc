#include "runtime/host/yielding.h"

#include <utility>

#include "runtime/base/loop_hooks.h"

namespace tessera {
namespace {

// That of the calling thread's innermost scope; null outside of all scopes.
thread_local YieldGate* gate_of_thread = nullptr;

void PassGate() { gate_of_thread->Pass(); }

// Makes the thread pass `gate` before the pieces of its loops; null ends that. Returns the gate
// before.
YieldGate* SetGate(YieldGate* gate) {
  before_loop_piece = gate == nullptr ? nullptr : PassGate;
  YieldGate* const before = std::exchange(gate_of_thread, gate);
  if (gate == nullptr && before != nullptr) before->Leave();
  return before;
}

// For ThreadPool::Options::around_redirected. The work was redirected to the calling pool.
void RunYielding(absl::FunctionRef<void()> closure) {
  YieldGate* const outer = SetGate(&static_cast<YieldingPool*>(pool_redirect)->gate());
  closure();
  SetGate(outer);
}

}  // namespace

YieldingPool::YieldingPool(int num_threads, int num_cores)
    : ThreadPool({.name = "yielding",
                  .num_threads = num_threads,
                  .nice = kLowNice,
                  .around_redirected = RunYielding}),
      gate_(num_cores) {}

YieldingScope::YieldingScope(YieldingPool* pool)
    : redirect_(pool), outer_(SetGate(&pool->gate())) {}

YieldingScope::~YieldingScope() { SetGate(outer_); }

bool Yields() { return gate_of_thread != nullptr; }

bool InBackground() { return BackgroundPool() != nullptr && !Yields(); }

}  // namespace tessera
