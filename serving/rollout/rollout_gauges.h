// RolloutGauges: where the rollouts of a server stand, in its metrics.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "serving/core/metrics.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// Shows the phase, the versions and the share of each rollout as gauges by model. Thread-safe.
class RolloutGauges {
 public:
  // `metrics` must outlive this object.
  explicit RolloutGauges(MetricsRegistry* metrics);

  void Show(const RolloutStatus& status);
  // Removes the gauges of a model that has no rollout any more.
  void Remove(absl::string_view model);

 private:
  struct Values {
    double phase, stable_version, candidate_version, share_ppm;
  };
  void Add(MetricsRegistry* metrics, absl::string_view name, double Values::*value);

  absl::Mutex mu_;
  std::map<std::string, Values, std::less<>> values_ ABSL_GUARDED_BY(mu_);  // by model
  std::vector<std::unique_ptr<MetricsRegistry::Collection>> collections_;   // end first
};

}  // namespace tessera::serving
