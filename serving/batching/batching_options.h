// How requests are gathered into batches.
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
  // The most rows of a request, and of a run unless `max_execution_batch_size` says less. Negative:
  // no limit.
  int64_t max_batch_size = 1000;
  // How long the first request of a batch waits for others at most.
  absl::Duration batch_timeout = absl::ZeroDuration();
  // Batches that may wait in one queue; further requests are refused. 0 counts as 1. Negative: no
  // limit.
  int64_t max_enqueued_batches = 10;
  // A request may be cut, and its parts run in several batches.
  bool enable_large_batch_splitting = false;
  // The most rows of a run where requests may be cut; max_batch_size if unset.
  std::optional<int64_t> max_execution_batch_size;
  // A run is padded to the first of these that is large enough; as it is if there is none.
  std::vector<int64_t> allowed_batch_sizes;
  // Inputs of requests whose further dimensions differ are padded to the largest, each with its own
  // first element. Otherwise such requests run one after the other.
  bool pad_variable_length_inputs = false;

  // Errors: INVALID_ARGUMENT naming the field, for sizes that let nothing run, a negative timeout,
  // runs larger than max_batch_size, and a last allowed size that is not max_batch_size.
  absl::Status Validate() const;

  // These require Validate(). The most rows of one request, and of one run.
  int64_t request_limit() const;
  int64_t run_limit() const;
  // In batches, at least 1.
  int64_t queue_limit() const;
  // The rows with which a run of `rows` is made.
  int64_t PaddedRows(int64_t rows) const;
  // Rows that runs are likely to have, ascending: of the allowed sizes those that a run can be
  // padded to. Without allowed sizes, powers of two below run_limit() and that itself, none above
  // kMaxLikelyRows.
  std::vector<int64_t> LikelyRows() const;

  static constexpr int64_t kMaxLikelyRows = 1024;
};

}  // namespace tessera::serving
