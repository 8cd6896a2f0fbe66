#include "serving/batching/pooled_batcher.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace tessera::serving {

PooledBatcher::PooledBatcher(const Options& options) {
  for (int i = 0; i < std::max(1, options.num_threads); ++i) {
    threads_.emplace_back([this, name = options.name] { RunThread(name); });
  }
}

PooledBatcher::~PooledBatcher() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    work_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status PooledBatcher::Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                                absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) {
  return RunQueued(lane, rows, options, feeds, fetches);
}

// Any thread can be woken, because a thread that wakes looks at all lanes.
void PooledBatcher::BatchQueued() { work_.Signal(); }

// Batches are never given to the threads of requests.
void PooledBatcher::RunGivenBatch(BatchLane&, Batch) {}

void PooledBatcher::Drain(BatchLane& lane) {
  Batcher::Drain(lane);
  work_.Signal();
}

void PooledBatcher::DrainAll() {
  Batcher::DrainAll();
  work_.SignalAll();
}

void PooledBatcher::RunThread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  absl::MutexLock lock(&mu_);
  while (!stopping_) {
    DueBatch due;
    absl::Time next_due;
    if (!TakeDue(absl::Now(), &due, &next_due)) {
      work_.WaitWithDeadline(&mu_, next_due);
      continue;
    }
    // A request that was split adds several batches but wakes only one thread.
    if (any_waiting()) work_.Signal();
    mu_.Unlock();
    due.lane->executor().Execute(absl::Now(), &due.batch);
    mu_.Lock();
    Deliver(due.batch);
  }
}

}  // namespace tessera::serving
