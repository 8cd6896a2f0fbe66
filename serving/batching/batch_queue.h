// BatchQueue: the waiting requests for one compiled run, gathered into batches.
#pragma once

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "serving/batching/batch.h"
#include "serving/batching/batching_options.h"

namespace tessera::serving {

// A queue of batches. The last batch may be open: requests are added to it until it is full, or
// until one comes that does not fit. If requests may be split, each batch is filled to the last
// row.
//
// Knows neither threads nor clocks. The owner passes the time, and guards the queue and its tasks
// by one mutex. Tasks belong to the caller and must exist until they are taken or withdrawn.
class BatchQueue {
 public:
  // Requires valid options, which must outlive the queue.
  explicit BatchQueue(const BatchingOptions* options)
      : options_(*options),
        timeout_(options->batch_timeout),
        preferred_rows_(options->run_limit()) {}

  // Queues all rows of `task`, at least one. On an error nothing is queued.
  // Errors: INVALID_ARGUMENT "Task size N is larger than maximum input batch size M"; UNAVAILABLE
  // "The batch scheduling queue to which this task was submitted is full; ...".
  absl::Status Add(BatchTask* task, absl::Time now);

  // Removes a task. Returns false, and changes nothing, if a part of it was taken already.
  bool Withdraw(BatchTask* task);

  // Returns the time at which the first batch is due: the time at which it was opened if it is
  // closed, else the timeout after that. Infinite future for an empty queue.
  absl::Time DueTime() const;
  // Returns true if the first batch is due. A clock that was set back makes no request wait longer.
  bool IsDue(absl::Time now) const;

  // Makes batches due when they are opened, from now on.
  void StopWaiting() { timeout_ = absl::ZeroDuration(); }

  // Batches take no more requests once they have so many rows; at most run_limit(). The queue has
  // room for as many rows as before.
  void SetPreferredRows(int64_t rows) { preferred_rows_ = rows; }
  int64_t preferred_rows() const { return preferred_rows_; }
  int64_t run_limit() const { return options_.run_limit(); }
  // Returns the rows of the first batch; 0 for an empty queue.
  int64_t first_rows() const { return batches_.empty() ? 0 : batches_.front().rows; }

  // Removes and returns the first batch. Requires that there is one.
  Batch Take();

  bool empty() const { return batches_.empty(); }
  // Returns the number of tasks whose last part is still queued.
  int num_tasks() const;

 private:
  absl::Status CheckSpace(int64_t rows) const;
  // Returns the rows that may still be added to the open batch; 0 if there is none.
  int64_t OpenRows() const;

  const BatchingOptions& options_;
  absl::Duration timeout_;
  int64_t preferred_rows_;
  std::deque<Batch> batches_;
};

}  // namespace tessera::serving
