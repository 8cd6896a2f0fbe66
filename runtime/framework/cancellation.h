// Cancelling a step: by its caller, its deadline, or the failure of one of its nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace tessera {

// Asynchronous kernels register what ends their wait; Cancel() calls each once.
//   CancellationManager::Token token;
//   if (!manager.Register([queue] { queue->Wake(); }, &token)) return absl::CancelledError(...);
//   ...
//   manager.Deregister(token);  // waits for a callback of this token that is running
// Thread-safe.
class CancellationManager {
 public:
  using Token = int64_t;

  // False, and `on_cancel` is dropped, if cancelled already.
  bool Register(std::function<void()> on_cancel, Token* token);
  // True if the callback will not run; false if it has run (or is done running now).
  // Must not be called from within a callback.
  bool Deregister(Token token);
  void Cancel();
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> cancelled_{false};
  absl::Mutex mu_;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  Token next_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<Token, std::function<void()>> callbacks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
