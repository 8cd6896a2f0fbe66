// Batcher: when requests run, on which thread, and which of them together.
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "serving/batching/batch.h"
#include "serving/batching/batch_executor.h"
#include "serving/batching/batch_queue.h"

namespace tessera::serving {

// One compiled run with the requests that wait for it. Belongs to whoever runs requests through it,
// and must outlive them; it may go as soon as the last one has ended.
class BatchLane {
 public:
  // `options` and `metrics` must outlive the lane; `options` must be valid.
  BatchLane(std::shared_ptr<const Callable> callable, const BatchingOptions* options,
            BatchExecutor::LoneRuns lone_runs, BatchMetrics* metrics)
      : executor_(std::move(callable), options, lone_runs, metrics), queue_(options) {}

  const BatchExecutor& executor() const { return executor_; }

 private:
  friend class Batcher;

  const BatchExecutor executor_;
  BatchQueue queue_;  // guarded by the mutex of the one Batcher it is used with
};

// Common to the ways of batching: the lanes that wait, in the order in which they are served, and
// the waiting of requests. A server has one Batcher for all its models; lanes are served by the
// time at which their first batch became due, so that none starves.
//
// Thread-safe. Must outlive the requests it runs.
class Batcher {
 public:
  virtual ~Batcher() = default;

  // Runs one request of `rows` >= 1 rows through `lane` and waits until it has ended; the arguments
  // are those of Callable::Run(). All its tensors have elements and the same first dimension.
  // Errors: those of BatchQueue::Add() and BatchExecutor::Execute(); RESOURCE_EXHAUSTED if the
  // timeout, CANCELLED if a cancellation comes while it waits.
  virtual absl::Status Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                           absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) = 0;

  // True if a request that came now might wait for others, or for other threads.
  virtual bool MayWait() const = 0;

  // From now on no batch of this lane waits for its timeout; for a version that goes.
  virtual void Drain(BatchLane& lane);
  // The same for all lanes; for a server that ends.
  virtual void DrainAll();

  // Requests that are queued, or whose last part is.
  int num_waiting() const ABSL_LOCKS_EXCLUDED(mu_);

 protected:
  struct DueBatch {
    BatchLane* lane;
    Batch batch;
  };

  // As Run() says, through the queue. Before it waits it calls BatchQueued().
  absl::Status RunQueued(BatchLane& lane, int64_t rows, const RunOptions& options,
                         absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches)
      ABSL_LOCKS_EXCLUDED(mu_);
  virtual void BatchQueued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Called when `task->to_run` has become a batch, on the task's thread and without the mutex.
  virtual void RunGivenBatch(BatchLane& lane, Batch batch) = 0;
  // Called when there are waiting batches that were not before, or none any more.
  virtual void WaitingChanged(bool /*any*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}

  // Takes the batch that is due for longest, if there is one; otherwise `next_due` is when the next
  // one will be. `lane` may be gone once the batch is delivered.
  bool TakeDue(absl::Time now, DueBatch* due, absl::Time* next_due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Gives the parts of an executed batch to their tasks, whose threads go on.
  void Deliver(Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool any_waiting() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !waiting_.empty(); }

  mutable absl::Mutex mu_;

 private:
  absl::Status Await(BatchLane& lane, BatchTask& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Withdraw(BatchLane& lane, BatchTask& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveIfEmpty(BatchLane* lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::vector<BatchLane*> waiting_ ABSL_GUARDED_BY(mu_);  // those with batches
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tessera::serving
