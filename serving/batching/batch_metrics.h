// What batching is counted in, under TensorFlow Serving's names.
#pragma once

#include <cstdint>

#include "absl/base/call_once.h"
#include "absl/time/time.h"
#include "serving/core/metrics.h"

namespace tessera::serving {

// The metrics /tensorflow/serving/batching_session/*. Thread-safe; lives as long as its registry.
class BatchMetrics {
 public:
  // As on TensorFlow Serving's page, numbers and the histograms of sizes appear with the first use.
  explicit BatchMetrics(MetricsRegistry* registry);

  // How long a request waited until its batch began to run.
  void RecordQueued(absl::Duration time);
  // One input tensor of one request.
  void RecordInput(int64_t rows);
  // One run of the model, of so many rows, of which `padding` repeat others.
  void RecordRun(int64_t rows, int64_t padding);

 private:
  void AddCells();
  void EnsureCells() {
    absl::call_once(cells_once_, [this] { AddCells(); });
  }

  MetricsRegistry* const registry_;
  CounterFamily* const runs_family_;
  HistogramFamily* const queuing_family_;
  absl::once_flag cells_once_;
  Counter* runs_ = nullptr;
  Histogram* queuing_latency_ = nullptr;
  Histogram* input_sizes_ = nullptr;
  Histogram* processed_sizes_ = nullptr;
  HistogramFamily* padding_sizes_ = nullptr;
};

}  // namespace tessera::serving
