// The JSON texts that the dashboard's page reads. Versions are strings in them, because a browser's
// numbers are exact up to 2^53 only. Times are seconds since 1970, durations seconds or, where the
// name says so, microseconds.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "serving/core/metrics.h"
#include "serving/frontend/dashboard/version_history.h"
#include "serving/rollout/rollout_admin.h"
#include "serving/servables/served_models.h"

namespace tessera::serving {

// The sources of the numbers. None but `rollouts` may be null.
struct OverviewSources {
  std::string server_version;
  absl::Time started;
  int64_t memory_limit = 0;  // in bytes; 0: none
  const ServedModels* models = nullptr;
  const VersionHistory* history = nullptr;
  MetricsRegistry* metrics = nullptr;
  RolloutAdmin* rollouts = nullptr;  // null without rollouts
};

// Returns what there is now: the process, models and versions with their state, memory and traffic
// since they were loaded, batches, and rollouts. `revision` is that of the timeline, which the page
// reads again when it has changed.
std::string OverviewJson(const OverviewSources& sources, uint64_t revision, bool read_only);

// Returns what has happened: changes of states, loads with their stages, and decisions of rollouts.
std::string TimelineJson(const OverviewSources& sources);

}  // namespace tessera::serving
