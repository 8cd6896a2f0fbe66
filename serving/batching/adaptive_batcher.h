// AdaptiveBatcher: batches only those requests that have to wait anyway.
#pragma once

#include <atomic>

#include "serving/batching/batcher.h"

namespace tessera::serving {

// A request that finds a free core runs at once, on the thread that it came on, without a queue, a
// timer or another thread. While `num_slots` requests run, further ones are queued. A run that ends
// hands its core to the batch that has waited for the longest time, and the thread of that batch's
// first request runs it. So batches form under load alone, and grow with it.
//
// Lanes must have a batch_timeout of zero, no splitting, and LoneRuns::kUnchanged.
class AdaptiveBatcher : public Batcher {
 public:
  // `num_slots` is the number of concurrent runs; it should be the number of cores.
  explicit AdaptiveBatcher(int num_slots) : free_slots_(num_slots) {}

  absl::Status Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                   absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) override;
  bool MayWait() const override;

 protected:
  void BatchQueued() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { Dispatch(); }
  void RunGivenBatch(BatchLane& lane, Batch batch) override;
  void WaitingChanged(bool any) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

 private:
  bool TakeSlot();
  void ReleaseSlot();
  // Hands batches to threads as long as there are free slots.
  void Dispatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A run gives its slot back before it checks whether a request waits, and a request is queued
  // before it checks for a slot. Both are sequentially consistent, so that no free slot is missed.
  std::atomic<int> free_slots_;
  std::atomic<bool> anyone_waits_{false};
};

}  // namespace tessera::serving
