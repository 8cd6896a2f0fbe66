#include "runtime/kernels/data/call_window.h"

#include <algorithm>

namespace tessera {

int64_t UsefulCalls(const ThreadPool* pool, int64_t num_parallel_calls) {
  const int64_t useful = pool == nullptr ? 1 : pool->num_threads() + 1;
  return num_parallel_calls == kAutotune ? useful : std::min(num_parallel_calls, useful);
}

std::unique_ptr<BackgroundStep> StepOfCalls(const StepContext& first, const ElementMap& map) {
  auto background = std::make_unique<BackgroundStep>(first);
  const ThreadPool* const pool = background->pool();
  if (pool != nullptr && UsefulCalls(pool, map.num_parallel_calls) >= pool->num_threads()) {
    background->KeepLoopsOnCallers();
  }
  return background;
}

std::shared_ptr<ClaimableTask> EmptyTask() {
  return std::make_shared<ClaimableTask>([] {});
}

}  // namespace tessera
