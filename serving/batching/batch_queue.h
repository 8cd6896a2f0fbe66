// BatchQueue: the requests for one compiled run that wait, gathered into batches.
#pragma once

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "serving/batching/batch.h"
#include "serving/batching/batching_options.h"

namespace tessera::serving {

// A line of batches, of which the last one may be open: it takes further requests until it is full
// or one comes that does not fit. Where requests may be cut, each batch is filled to the last row.
//
// Knows neither threads nor clocks: whoever owns it gives the time, and guards it and its tasks by
// one mutex. Tasks belong to the caller and must stay until they were taken or withdrawn.
class BatchQueue {
 public:
  // Requires valid options, which must outlive the queue.
  explicit BatchQueue(const BatchingOptions* options)
      : options_(*options), timeout_(options->batch_timeout) {}

  // Queues all rows of `task`, at least one. On an error nothing is queued.
  // Errors: INVALID_ARGUMENT "Task size N is larger than maximum input batch size M"; UNAVAILABLE
  // "The batch scheduling queue to which this task was submitted is full; ...".
  absl::Status Add(BatchTask* task, absl::Time now);

  // Takes a task out again; false, and nothing is changed, if a part of it was taken.
  bool Withdraw(BatchTask* task);

  // When the first batch is to run: when it was opened, if it is closed, else once the timeout has
  // passed. Infinite future for an empty queue.
  absl::Time DueTime() const;
  // True if the first batch is to run by now. A clock that went back makes nobody wait for longer.
  bool IsDue(absl::Time now) const;

  // From now on batches are due when they are opened.
  void StopWaiting() { timeout_ = absl::ZeroDuration(); }

  // The first batch. Requires that there is one.
  Batch Take();

  bool empty() const { return batches_.empty(); }
  // Tasks whose last part waits.
  int num_tasks() const;

 private:
  absl::Status CheckSpace(int64_t rows) const;
  // Rows that the open batch still takes; 0 if there is none.
  int64_t OpenRows() const;

  const BatchingOptions& options_;
  absl::Duration timeout_;
  std::deque<Batch> batches_;
};

}  // namespace tessera::serving
