// Gets a batch while the caller works on the one before.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/cancellation.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Calls `get` on a thread of its own, one batch ahead of the caller:
//
//   BatchAhead ahead(get, /*cancellation=*/nullptr);
//   ahead.Next(nullptr);       // waits for the first batch; the thread then gets the second
//
// Used by one thread at a time.
class BatchAhead {
 public:
  struct Result {
    absl::StatusOr<bool> has_batch = false;  // false: the end of an epoch
    std::vector<Tensor> batch;
    std::vector<Tensor> prepared;
  };
  // Gets a batch, and prepares it. `cancellation` ends the call from another thread.
  using Get = std::function<Result(CancellationManager* cancellation)>;

  // `cancellation` ends what is under way at any time, and may be null.
  BatchAhead(Get get, CancellationManager* cancellation);
  // Cancels what is under way, and waits for it.
  ~BatchAhead();
  BatchAhead(const BatchAhead&) = delete;
  BatchAhead& operator=(const BatchAhead&) = delete;

  // Returns what was got ahead, and has the next one got; nothing after an error. `cancellation`
  // ends the waiting as it ends `get`, and may be null.
  Result Next(CancellationManager* cancellation);

  // Waits until the thread is idle, and returns what is ahead, in order. Valid until the next call.
  const std::deque<Result>& AwaitPending();
  // Makes these what is ahead.
  void SetPending(std::deque<Result> results);

 private:
  void Loop();
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !is_getting_; }

  // Ends `get_` when `cancellation` is cancelled, as long as it lives.
  class Forwarding {
   public:
    Forwarding(CancellationManager* from, CancellationManager* to);
    ~Forwarding();
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

   private:
    CancellationManager* from_;
    CancellationManager::Token token_ = 0;
  };

  const Get get_;
  CancellationManager cancellation_;  // of `get_`
  const Forwarding forwarding_;
  absl::Mutex mu_;
  bool is_getting_ ABSL_GUARDED_BY(mu_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<Result> pending_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace tessera
