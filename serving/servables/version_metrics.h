// VersionMetrics: metrics of versions as they are loaded and unloaded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "serving/core/memory_budget.h"
#include "serving/core/metrics.h"
#include "serving/core/servable_event_bus.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// Counts swaps, that is, how often a version of a model became available while another one was, and
// versions that failed. Thread-safe.
class VersionMetrics {
 public:
  // Both must outlive this object.
  VersionMetrics(ServableEventBus* bus, MetricsRegistry* registry);

 private:
  void HandleEvent(const ServableState& state);

  CounterFamily* const swaps_;
  CounterFamily* const failures_;
  absl::Mutex mu_;
  std::map<std::string, std::set<int64_t>> versions_ ABSL_GUARDED_BY(mu_);  // available, by name
  const std::unique_ptr<ServableEventBus::Subscription> subscription_;
};

// Adds a gauge of the versions of each model that are available now, which `counts` returns by
// name. `registry` and what `counts` refers to must outlive the returned collection.
std::unique_ptr<MetricsRegistry::Collection> CollectAvailableVersions(
    std::function<std::map<std::string, int64_t>()> counts, MetricsRegistry* registry);

// Adds a gauge of the memory of each version, which `in_use` returns. `registry` and what `in_use`
// refers to must outlive the returned collection.
std::unique_ptr<MetricsRegistry::Collection> CollectVersionMemory(
    std::function<std::map<ServableId, MemoryEstimate>()> in_use, MetricsRegistry* registry);

}  // namespace tessera::serving
