// BatchingOptions: how requests are gathered into batches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace tessera::serving {

// Settings of the queues of one model. Sizes are rows: the first dimension of a request's inputs.
// Names and defaults are those of TensorFlow Serving's BatchingParameters.
struct BatchingOptions {
  // The most rows of a request, and of a run unless `max_execution_batch_size` is less. Negative:
  // no limit.
  int64_t max_batch_size = 1000;
  // The longest time for which the first request of a batch waits for others.
  absl::Duration batch_timeout = absl::ZeroDuration();
  // The most batches in one queue. Further requests are refused. 0 counts as 1. Negative: no limit.
  int64_t max_enqueued_batches = 10;
  // Whether a request may be split into parts that run in several batches.
  bool enable_large_batch_splitting = false;
  // The most rows of a run if requests may be split. max_batch_size if unset.
  std::optional<int64_t> max_execution_batch_size;
  // A run is padded to the first of these sizes that is large enough. It is not padded if there is
  // none.
  std::vector<int64_t> allowed_batch_sizes;
  // Whether inputs that differ in dimensions beyond the first are padded to the largest, each with
  // its own first element. If not, such requests run one after the other.
  bool pad_variable_length_inputs = false;
  // Whether runs are measured, for MeasuredBatcher.
  bool measures_cost = false;

  // Returns all errors: INVALID_ARGUMENT, naming the field, for sizes with which nothing could run,
  // a negative timeout, runs larger than max_batch_size, and a last allowed size that is not
  // max_batch_size.
  std::vector<absl::Status> Errors() const;
  // Returns the first of the errors.
  absl::Status Validate() const;

  // The methods below require that Validate() returns OK.
  // Return the most rows of one request, and of one run.
  int64_t request_limit() const;
  int64_t run_limit() const;
  // Returns the most batches of a queue, at least 1.
  int64_t queue_limit() const;
  // Returns the number of rows that a run of `rows` rows is padded to.
  int64_t PaddedRows(int64_t rows) const;
  // Returns the numbers of rows that runs are likely to have, in ascending order. These are the
  // allowed sizes that a run can be padded to. Without allowed sizes they are the powers of two
  // below run_limit(), and run_limit() itself, as far as they do not exceed kMaxLikelyRows.
  std::vector<int64_t> LikelyRows() const;

  static constexpr int64_t kMaxLikelyRows = 1024;
};

}  // namespace tessera::serving
