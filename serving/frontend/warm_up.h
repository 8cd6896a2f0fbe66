// Warm-up: recorded requests that a version answers before it becomes available, so that its first
// real ones find everything compiled.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "serving/core/metrics.h"
#include "serving/servables/saved_model_servable.h"

namespace tensorflow::serving {
class PredictionLog;
}  // namespace tensorflow::serving

namespace tessera::serving {

// Calls `visit` for each record of a TFRecord file, in order: a length of 8 bytes and its masked
// CRC-32C, the bytes and theirs, little endian. A rest too short for a length ends the file.
// Errors: NOT_FOUND; DATA_LOSS for a checksum that is wrong or a record that is cut; visit's own.
absl::Status ForEachRecord(const std::string& path,
                           absl::FunctionRef<absl::Status(absl::string_view record)> visit);

// Replays DIRECTORY/assets.extra/tf_serving_warmup_requests, a TFRecord of PredictionLog. The model
// that a record names does not count, its signature does. Thread-safe.
class WarmUp {
 public:
  static constexpr int kMaxRecords = 1000;
  static constexpr char kFile[] = "assets.extra/tf_serving_warmup_requests";

  // Each record runs `iterations` times, at least once. `metrics` must outlive this.
  WarmUp(int iterations, MetricsRegistry* metrics);

  // Without the file there is nothing to do.
  // Errors: those of the requests; DATA_LOSS for what is no TFRecord; INVALID_ARGUMENT for a record
  // that is no PredictionLog or for more than kMaxRecords; UNIMPLEMENTED for streamed predictions
  // and session runs.
  absl::Status Run(const std::string& directory, const SavedModelServable& servable) const;

 private:
  absl::Status Replay(const tensorflow::serving::PredictionLog& log,
                      const SavedModelServable& servable) const;

  const int iterations_;
  HistogramFamily* const warmup_latency_;
  HistogramFamily* const runtime_latency_;
};

}  // namespace tessera::serving
