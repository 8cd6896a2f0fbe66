// Batcher: decides when requests run, on which thread, and which of them run together.
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

// One compiled run with the requests that wait for it. The owner runs requests through it, and may
// destroy it as soon as the last one of them has ended.
class BatchLane {
 public:
  // `options` and `metrics` must outlive the lane; `options` must be valid.
  BatchLane(std::shared_ptr<const Callable> callable, const BatchingOptions* options,
            BatchExecutor::LoneRuns lone_runs, VersionBatchMetrics* metrics)
      : executor_(std::move(callable), options, lone_runs, metrics),
        metrics_(*metrics),
        queue_(options) {}

  const BatchExecutor& executor() const { return executor_; }
  VersionBatchMetrics& metrics() const { return metrics_; }
  // The rows with which a batch waits no longer for more. Guarded by the mutex of the Batcher.
  int64_t preferred_rows() const { return queue_.preferred_rows(); }

 private:
  friend class Batcher;

  const BatchExecutor executor_;
  VersionBatchMetrics& metrics_;
  BatchQueue queue_;  // guarded by the mutex of the one Batcher it is used with
};

// The base class of the ways of batching. It keeps the waiting lanes in the order in which they are
// served, and makes requests wait. A server has one Batcher for all models. Lanes are served in the
// order in which their first batches became due, so that none starves.
//
// Thread-safe. Must outlive the requests that it runs.
class Batcher {
 public:
  virtual ~Batcher() = default;

  // Runs one request of `rows` >= 1 rows through `lane` and waits until it has ended. The other
  // arguments are those of Callable::Run(). All tensors must have elements and the same first
  // dimension.
  // Errors: those of BatchQueue::Add() and BatchExecutor::Execute(); RESOURCE_EXHAUSTED if the
  // timeout, CANCELLED if a cancellation comes while it waits.
  virtual absl::Status Run(BatchLane& lane, int64_t rows, const RunOptions& options,
                           absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) = 0;

  // Returns true if a request that came now might wait for other requests or other threads.
  virtual bool MayWait() const = 0;

  // Makes batches of this lane run without waiting for their timeout, from now on. For a version
  // that is to be unloaded.
  virtual void Drain(BatchLane& lane);
  // Does the same for all lanes. For a server that shuts down.
  virtual void DrainAll();

  // Returns the number of requests whose last part is still queued.
  int num_waiting() const ABSL_LOCKS_EXCLUDED(mu_);

 protected:
  struct DueBatch {
    BatchLane* lane;
    Batch batch;
  };

  // Implements Run() through the queue of the lane. Calls BatchQueued() before it waits.
  absl::Status RunQueued(BatchLane& lane, int64_t rows, const RunOptions& options,
                         absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches)
      ABSL_LOCKS_EXCLUDED(mu_);
  virtual void BatchQueued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Called on the thread of a task, without the mutex, when the task was given a batch to run.
  virtual void RunGivenBatch(BatchLane& lane, Batch batch) = 0;
  // Returns false if the first batch of a lane shall not start yet, due or not.
  virtual bool MayStart(const BatchLane& /*lane*/) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return true;
  }
  // Called when the first batch begins to wait (`any` is true), and when none waits any more.
  virtual void WaitingChanged(bool /*any*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}

  // Takes the batch that has been due for the longest time. If none is due, returns false and sets
  // `next_due` to the time at which the next one will be. `due->lane` may be destroyed once the
  // batch has been delivered.
  bool TakeDue(absl::Time now, DueBatch* due, absl::Time* next_due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Gives the results of an executed batch to its tasks, and wakes their threads.
  void Deliver(Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The rows of the first batch that waits in a lane.
  static int64_t RowsOfFirst(const BatchLane& lane) { return lane.queue_.first_rows(); }
  // Lets batches of a lane grow to what its cost curve says is best.
  static void LearnPreferredRows(BatchLane& lane);
  bool any_waiting() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !waiting_.empty(); }

  mutable absl::Mutex mu_;

 private:
  absl::Status Await(BatchLane& lane, BatchTask& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Withdraw(BatchLane& lane, BatchTask& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveIfEmpty(BatchLane* lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::vector<BatchLane*> waiting_ ABSL_GUARDED_BY(mu_);  // lanes that have batches
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tessera::serving
