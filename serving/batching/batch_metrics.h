// BatchMetrics: the metrics of batching, under TensorFlow Serving's names.
#pragma once

#include <cstdint>

#include "absl/base/call_once.h"
#include "absl/time/time.h"
#include "serving/core/metrics.h"

namespace tessera::serving {

// The metrics /tensorflow/serving/batching_session/*. Thread-safe. Valid as long as the registry.
class BatchMetrics {
 public:
  // As in TensorFlow Serving, the numbers and the histograms of sizes are on the page after their
  // first use only.
  explicit BatchMetrics(MetricsRegistry* registry);

  // Records how long a request waited until its batch began to run.
  void RecordQueued(absl::Duration time);
  // Records the rows of one input tensor of one request.
  void RecordInput(int64_t rows);
  // Records one run of the model with `rows` rows, of which `padding` repeat others.
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
