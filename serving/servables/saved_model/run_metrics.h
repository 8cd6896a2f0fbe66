// RunMetrics: metrics of loads and runs, under the names of TensorFlow's runtime.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/session/saved_model.h"
#include "serving/core/metrics.h"
#include "serving/servables/saved_model/shown_paths.h"

namespace tessera::serving {

// Thread-safe. Valid as long as its registry.
class RunMetrics {
 public:
  explicit RunMetrics(MetricsRegistry* registry);

  // Returns a callable that runs `callable` and counts its runs, their times and the bytes of feeds
  // and fetches. This object must outlive it.
  std::shared_ptr<const Callable> Meter(std::shared_ptr<const Callable> callable);
  // Keeps the metrics of the version in a directory while the returned share exists. Must be called
  // before the load of the version is recorded.
  std::unique_ptr<ShownPaths::Share> Show(const std::string& directory) {
    return shown_paths_.Show(directory);
  }
  // Records a load that returned `bundle` after `time`.
  void RecordLoad(absl::string_view directory, const absl::StatusOr<SavedModelBundle>& bundle,
                  absl::Duration time);

 private:
  class MeteredCallable;

  Counter* const graph_runs_;
  Counter* const session_runs_;
  Counter* const run_time_;
  Histogram* const run_times_;
  Histogram* const input_bytes_;
  Histogram* const output_bytes_;
  PassingCounterFamily* const load_attempts_;
  PassingCounterFamily* const load_latency_;
  PassingHistogramFamily* const load_stages_;
  HistogramFamily* const own_load_stages_;
  Counter* const graph_builds_;
  Counter* const graph_build_time_;
  CounterFamily* const reads_;
  CounterFamily* const reads_by_version_;
  Gauge* const session_created_;
  ShownPaths shown_paths_;
};

}  // namespace tessera::serving
