#include "runtime/base/thread_share.h"

#include <utility>

namespace tessera {

ThreadShareScope::ThreadShareScope(const std::atomic<int>* num_runs)
    : outer_(std::exchange(num_sharing_runs, num_runs)) {}

ThreadShareScope::~ThreadShareScope() { num_sharing_runs = outer_; }

}  // namespace tessera
