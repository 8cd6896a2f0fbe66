#include "runtime/base/cancellation.h"

#include <vector>

namespace tessera {

bool CancellationManager::Register(std::function<void()> on_cancel, Token* token) {
  absl::MutexLock lock(&mu_);
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  *token = next_++;
  callbacks_.emplace(*token, std::move(on_cancel));
  return true;
}

bool CancellationManager::Deregister(Token token) {
  absl::MutexLock lock(&mu_);
  if (callbacks_.erase(token) > 0) return true;
  mu_.Await(absl::Condition(
      +[](bool* running) { return !*running; }, &running_));
  return false;
}

bool CancellationManager::TryDeregister(Token token) {
  absl::MutexLock lock(&mu_);
  return callbacks_.erase(token) > 0;
}

void CancellationManager::Cancel() {
  absl::flat_hash_map<Token, std::function<void()>> callbacks;
  {
    absl::MutexLock lock(&mu_);
    if (cancelled_.exchange(true, std::memory_order_acq_rel)) return;
    callbacks.swap(callbacks_);
    running_ = true;
  }
  for (auto& [token, callback] : callbacks) callback();
  absl::MutexLock lock(&mu_);
  running_ = false;
}

}  // namespace tessera
