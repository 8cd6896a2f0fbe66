#include "runtime/base/thread_share.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

thread_local const std::atomic<int>* num_sharing_runs = nullptr;

}  // namespace

ThreadShareScope::ThreadShareScope(const std::atomic<int>* num_runs)
    : outer_(std::exchange(num_sharing_runs, num_runs)) {}

ThreadShareScope::~ThreadShareScope() { num_sharing_runs = outer_; }

int ThreadShare(int threads) {
  if (num_sharing_runs == nullptr) [[likely]]
    return threads;
  const int runs = std::max(1, num_sharing_runs->load(std::memory_order_relaxed));
  return std::max(1, (threads + runs / 2) / runs);
}

}  // namespace tessera
