// Warm-up: requests that a version answers before it becomes available, so that its first real ones
// find everything compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "serving/core/metrics.h"
#include "serving/servables/servable.h"

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
// that a record names does not count, its signature does. Without that file, asks what the version
// that is live was asked; without such requests, what the signatures allow. Where requests are
// batched, these come at each number of rows that runs are likely to have, the small ones first,
// until kMaxTime is over or the next one would take longer, or inputs get larger than
// kMaxBatchBytes. Thread-safe.
class WarmUp {
 public:
  static constexpr int kMaxRecords = 1000;
  static constexpr char kFile[] = "assets.extra/tf_serving_warmup_requests";
  // Warm-up without a file asks no more after this long, and nothing that, by what the signature
  // took last for so many rows, would not be done by then.
  static constexpr absl::Duration kMaxTime = absl::Seconds(20);

  // Each record runs `iterations` times, at least once. `metrics` must outlive this.
  WarmUp(int iterations, MetricsRegistry* metrics);

  // `samples`: what the version that is live was asked. `likely_rows`: those of runs, ascending;
  // empty if requests are not batched.
  // Errors: those of recorded requests; DATA_LOSS for what is no TFRecord; INVALID_ARGUMENT for a
  // record that is no PredictionLog or for more than kMaxRecords; UNIMPLEMENTED for streamed
  // predictions and session runs. Requests that were not recorded may fail: nobody said that the
  // model can answer them.
  absl::Status Run(const std::string& directory, const Servable& servable,
                   const std::vector<SampleRequest>& samples,
                   absl::Span<const int64_t> likely_rows) const;

 private:
  absl::Status ReplayFile(const std::string& directory, const std::string& path,
                          const Servable& servable) const;
  // Asks only signatures that leave the model as it was.
  void Ask(const std::string& directory, const Servable& servable,
           const std::vector<SampleRequest>& samples, absl::Span<const int64_t> likely_rows) const;
  absl::Status Replay(const tensorflow::serving::PredictionLog& log,
                      const Servable& servable) const;

  const int iterations_;
  PassingHistogramFamily* const warmup_latency_;
  HistogramFamily* const runtime_latency_;
};

}  // namespace tessera::serving
