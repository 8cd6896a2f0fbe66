#include "serving/batching/measured_batcher.h"

#include <utility>

#include "absl/time/clock.h"

namespace tessera::serving {

absl::Status MeasuredBatcher::Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                                  absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) {
  return RunQueued(lane, rows, options, feeds, fetches);
}

bool MeasuredBatcher::MayStart(const BatchLane& lane) const {
  if (!num_runs_.contains(&lane)) return true;
  const int64_t rows = RowsOfFirst(lane);
  // As many rows again are likely to come until the run that is under way ends.
  return rows >= lane.preferred_rows() || !lane.executor().cost().IsWorthMerging(rows, rows);
}

void MeasuredBatcher::Dispatch() {
  DueBatch due;
  absl::Time next_due;
  // In this mode each waiting request is due.
  while (free_slots_ > 0 && TakeDue(absl::InfiniteFuture(), &due, &next_due)) {
    --free_slots_;
    ++num_runs_[due.lane];
    BatchTask& first = *due.batch.parts[0].task;
    first.to_run = std::make_unique<Batch>(std::move(due.batch));
    first.changed.Signal();
  }
}

void MeasuredBatcher::RunGivenBatch(BatchLane& lane, Batch batch) {
  lane.executor().Execute(absl::Now(), &batch);
  absl::MutexLock lock(&mu_);
  ++free_slots_;
  const auto runs = num_runs_.find(&lane);
  if (--runs->second == 0) num_runs_.erase(runs);
  LearnPreferredRows(lane);
  Dispatch();
  // The last: the lane may be destroyed once its requests have ended.
  Deliver(batch);
}

}  // namespace tessera::serving
