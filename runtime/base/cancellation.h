// CancellationManager: cancels an operation, and wakes everything that waits inside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace tessera {

// Whatever waits registers a callback that ends its wait. Cancel() calls each callback once.
//
//   CancellationManager::Token token;
//   if (!manager.Register([queue] { queue->Wake(); }, &token)) return absl::CancelledError(...);
//   ...
//   manager.Deregister(token);  // the callback is not running any more
//
// Thread-safe.
class CancellationManager {
 public:
  using Token = int64_t;

  // Returns false, and drops `on_cancel`, if Cancel() was called before.
  bool Register(std::function<void()> on_cancel, Token* token);
  // Returns true if the callback has not run and never will, false if it has run. Waits for the
  // callbacks if Cancel() is calling them now. Must not be called by a callback.
  bool Deregister(Token token);
  // The same without waiting for a callback that runs now; may be called from anywhere.
  bool TryDeregister(Token token);
  // Calls all registered callbacks on the calling thread. Only the first call has an effect.
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
