// WarmUp: makes requests to a version before it becomes available, so that the first requests of
// clients find everything compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/cancellation.h"
#include "serving/core/metrics.h"
#include "serving/servables/servable.h"

namespace tensorflow::serving {
class PredictionLog;
}  // namespace tensorflow::serving

namespace tessera::serving {

// Calls `visit` for each record of a TFRecord file, in order. A record is its length in 8 bytes,
// the masked CRC-32C of the length, the data, and the masked CRC-32C of the data, all little
// endian. Bytes at the end that are too few for a length are ignored. Errors: NOT_FOUND; DATA_LOSS
// for a wrong checksum or a truncated record; those of `visit`.
absl::Status ForEachRecord(const std::string& path,
                           absl::FunctionRef<absl::Status(absl::string_view record)> visit);

// Replays the file DIRECTORY/assets.extra/tf_serving_warmup_requests, a TFRecord of PredictionLog.
// The name of the model in a record is ignored, its signature is not.
//
// Without that file, asks the sampled requests of the live version. If there are none, asks made-up
// requests that fit the signatures. If requests are batched, these come with each number of rows
// that runs are likely to have, smallest first. They end when kMaxTime has passed, when the next
// one would take longer than that, or when inputs would exceed kMaxBatchBytes. A sampled request is
// given up after half of the time that is left, so that a slow one leaves some to the others.
// Thread-safe.
class WarmUp {
 public:
  static constexpr int kMaxRecords = 1000;
  static constexpr char kFile[] = "assets.extra/tf_serving_warmup_requests";
  // Time limit of warm-up without a file. It makes no request that would not end in time, judging
  // by the time for each row that the last run of the signature took.
  static constexpr absl::Duration kMaxTime = absl::Seconds(20);

  // Each request is made `iterations` times, at least once; those of no file have `max_time`
  // together. `metrics` must outlive this object.
  WarmUp(int iterations, MetricsRegistry* metrics, absl::Duration max_time = kMaxTime);

  // Ends what runs now, and all later ones, at once.
  void Stop() { stopping_.Cancel(); }

  // `samples` are requests that the live version has answered. `likely_rows` are the numbers of
  // rows that runs are likely to have, in ascending order; empty if requests are not batched.
  // Errors: those of recorded requests, CANCELLED after Stop() among them; DATA_LOSS if the file is
  // no TFRecord; INVALID_ARGUMENT for a record that is no PredictionLog or for more than
  // kMaxRecords; UNIMPLEMENTED for streamed predictions and session runs. Requests that were not
  // recorded may fail, because the model need not be able to answer them.
  absl::Status Run(const std::string& directory, const Servable& servable,
                   const std::vector<SampleRequest>& samples,
                   absl::Span<const int64_t> likely_rows) const;

 private:
  absl::Status ReplayFile(const std::string& directory, const std::string& path,
                          const Servable& servable) const;
  // Makes requests of our own to pure signatures.
  void Ask(const std::string& directory, const Servable& servable,
           const std::vector<SampleRequest>& samples, absl::Span<const int64_t> likely_rows) const;
  absl::Status Replay(const tensorflow::serving::PredictionLog& log,
                      const Servable& servable) const;

  const int iterations_;
  const absl::Duration max_time_;
  mutable CancellationManager stopping_;
  PassingHistogramFamily* const warmup_latency_;
  HistogramFamily* const runtime_latency_;
};

}  // namespace tessera::serving
