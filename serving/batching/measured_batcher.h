// MeasuredBatcher: batches by what runs of a model cost on its device.
#pragma once

#include <map>

#include "serving/batching/batcher.h"

namespace tessera::serving {

// For devices that run batches nearly as fast as single rows, such as GPUs. The costs are measured
// for each lane (CostCurve), in the runs of warm-up and of clients.
//
// A request that finds its lane idle runs at once, whatever the costs. While a run of the lane is
// under way, further requests wait for it to end if one run of all of them is much cheaper than
// runs by themselves, and run beside it, in up to `num_slots` runs of all lanes, if it is not. A
// batch that has as many rows as the device does best waits no longer, and takes no more.
//
// Requests run on their own threads. Lanes must have a batch_timeout of zero, no splitting,
// measures_cost, and LoneRuns::kUnchanged.
class MeasuredBatcher : public Batcher {
 public:
  explicit MeasuredBatcher(int num_slots) : free_slots_(num_slots) {}

  absl::Status Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                   absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) override;
  // Always true: a run on another thread may be under way.
  bool MayWait() const override { return true; }

 protected:
  void BatchQueued() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { Dispatch(); }
  void RunGivenBatch(BatchLane& lane, Batch batch) override;
  bool MayStart(const BatchLane& lane) const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

 private:
  // Hands batches that may start to the threads of their first requests.
  void Dispatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  int free_slots_ ABSL_GUARDED_BY(mu_);
  // Runs under way; a lane without any has no entry.
  std::map<const BatchLane*, int> num_runs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving
