// AdaptiveBatcher: batches only of requests that have to wait anyway.
#pragma once

#include <atomic>

#include "serving/batching/batcher.h"

namespace tessera::serving {

// A request that finds a core free runs at once, on the thread it came on: no queue, no timer, no
// other thread. Once `num_slots` runs are under way, further requests queue up; whoever ends hands
// its core to the batch that waits for longest, which the thread of its first request runs. So
// batches form out of load alone, and grow with it.
//
// Lanes must have a batch_timeout of zero, no splitting and LoneRuns::kUnchanged.
class AdaptiveBatcher : public Batcher {
 public:
  // Runs at once; one for each core is meant.
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

  // A slot is given back before it is looked whether anyone waits, and requests queue up before
  // they look for a slot; both in one total order, so that no free slot is overlooked.
  std::atomic<int> free_slots_;
  std::atomic<bool> anyone_waits_{false};
};

}  // namespace tessera::serving
