// What loads and runs are counted in, under the names TensorFlow's runtime uses.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/session/saved_model.h"
#include "serving/core/metrics.h"
#include "serving/servables/saved_model/shown_paths.h"

namespace tessera::serving {

// The metrics of loads and graph runs. Thread-safe; lives as long as its registry.
class RunMetrics {
 public:
  explicit RunMetrics(MetricsRegistry* registry);

  // A callable that counts its runs, their times and the bytes that go in and out. This must
  // outlive it.
  std::shared_ptr<const Callable> Meter(std::shared_ptr<const Callable> callable);
  // For as long as the version in a directory exists, from before its load is recorded.
  std::unique_ptr<ShownPaths::Share> Show(const std::string& directory) {
    return shown_paths_.Show(directory);
  }
  // `bundle` is what loading the directory gave, after `time` in all.
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
