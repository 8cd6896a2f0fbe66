#include "serving/batching/adaptive_batcher.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"

namespace tessera::serving {

bool AdaptiveBatcher::TakeSlot() {
  int free = free_slots_.load();
  while (free > 0) {
    if (free_slots_.compare_exchange_weak(free, free - 1)) return true;
  }
  return false;
}

void AdaptiveBatcher::ReleaseSlot() {
  free_slots_.fetch_add(1);
  if (!anyone_waits_.load()) return;
  absl::MutexLock lock(&mu_);
  Dispatch();
}

bool AdaptiveBatcher::MayWait() const {
  return anyone_waits_.load(std::memory_order_relaxed) ||
         free_slots_.load(std::memory_order_relaxed) <= 0;
}

void AdaptiveBatcher::WaitingChanged(bool any) { anyone_waits_.store(any); }

absl::Status AdaptiveBatcher::Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                                  absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) {
  // Requests that wait already go first.
  if (!anyone_waits_.load() && TakeSlot()) {
    absl::Cleanup release = [this] { ReleaseSlot(); };
    lane.metrics().RecordLoneRun(rows);
    return lane.executor().callable().Run(options, feeds, fetches);
  }
  return RunQueued(lane, rows, options, feeds, fetches);
}

void AdaptiveBatcher::Dispatch() {
  DueBatch due;
  absl::Time next_due;
  while (any_waiting() && TakeSlot()) {
    // In this mode each waiting request is due.
    if (!TakeDue(absl::InfiniteFuture(), &due, &next_due)) {
      free_slots_.fetch_add(1);
      return;
    }
    BatchTask& first = *due.batch.parts[0].task;
    first.to_run = std::make_unique<Batch>(std::move(due.batch));
    first.changed.Signal();
  }
}

void AdaptiveBatcher::RunGivenBatch(BatchLane& lane, Batch batch) {
  lane.executor().Execute(absl::Now(), &batch);
  {
    absl::MutexLock lock(&mu_);
    Deliver(batch);
  }
  ReleaseSlot();
}

}  // namespace tessera::serving
