// BatchMetrics and VersionBatchMetrics: the metrics of batching.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/core/metrics.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

class VersionBatchMetrics;

// The metrics of all versions: /tensorflow/serving/batching_session/*, in which TensorFlow Serving
// tells no models apart, and /tessera/serving/{batch_size,queue_length,queue_rejections,
// preferred_batch_size} by version. Thread-safe. Valid as long as the registry.
class BatchMetrics {
 public:
  // Registers the metrics. Numbers and histograms of sizes are on the page after their first use
  // only, as in TensorFlow Serving.
  explicit BatchMetrics(MetricsRegistry* registry);

 private:
  friend class VersionBatchMetrics;
  using SampleOf = std::function<MetricSample(const VersionBatchMetrics&)>;

  void RecordQueued(absl::Duration time);
  void RecordInput(int64_t rows);
  void RecordRun(int64_t rows, int64_t padding);
  void AddCells();
  void EnsureCells() {
    absl::call_once(cells_once_, [this] { AddCells(); });
  }
  // Shows a metric of each version.
  void Collect(absl::string_view name, prometheus::MetricType type, SampleOf sample_of);

  MetricsRegistry* const registry_;
  CounterFamily* const runs_family_;
  HistogramFamily* const queuing_family_;
  absl::once_flag cells_once_;
  Counter* runs_ = nullptr;
  Histogram* queuing_latency_ = nullptr;
  Histogram* input_sizes_ = nullptr;
  Histogram* processed_sizes_ = nullptr;
  HistogramFamily* padding_sizes_ = nullptr;
  absl::Mutex mu_;
  std::map<ServableId, const VersionBatchMetrics*> versions_ ABSL_GUARDED_BY(mu_);
  // Ends first.
  std::vector<std::unique_ptr<MetricsRegistry::Collection>> collections_;
};

// The metrics of one version, which are on the page while this exists. Thread-safe, without locks
// but in the constructor and the destructor.
class VersionBatchMetrics {
 public:
  // `all` must outlive this. If there are two of one version, the page shows the one made last.
  VersionBatchMetrics(const ServableId& id, BatchMetrics* all);
  ~VersionBatchMetrics();
  VersionBatchMetrics(const VersionBatchMetrics&) = delete;
  VersionBatchMetrics& operator=(const VersionBatchMetrics&) = delete;

  // Records how long a request waited until its batch began to run.
  void RecordQueued(absl::Duration time) { all_.RecordQueued(time); }
  // Records the rows of one input tensor of one request.
  void RecordInput(int64_t rows) { all_.RecordInput(rows); }
  // Records one run of the model with `rows` rows, of which `padding` repeat others.
  void RecordRun(int64_t rows, int64_t padding);
  // Records the run of one request that found a free core. TensorFlow Serving has no such runs.
  void RecordLoneRun(int64_t rows) { sizes_.Record(static_cast<double>(rows)); }
  // Tells that this many more requests wait for their batches to begin.
  void AddWaiting(int change) { waiting_.fetch_add(change, std::memory_order_relaxed); }
  // Records a request that was refused because the queue was full.
  void RecordRefused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  // Tells with how many rows a batch waits no longer; of several signatures the last one counts.
  void SetPreferredRows(int64_t rows) { preferred_rows_.store(rows, std::memory_order_relaxed); }

 private:
  friend class BatchMetrics;

  const ServableId id_;
  BatchMetrics& all_;
  Histogram sizes_;
  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> refused_{0};
  std::atomic<int64_t> preferred_rows_{0};  // 0: it is not known
};

}  // namespace tessera::serving
