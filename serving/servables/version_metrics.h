// What is counted of versions as they come and go.
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

// The versions of each model that are available now, and how often one became available while
// another one was, which is a swap. Thread-safe.
class VersionMetrics {
 public:
  // Both must outlive this.
  VersionMetrics(ServableEventBus* bus, MetricsRegistry* registry);

 private:
  void HandleEvent(const ServableState& state);

  GaugeFamily* const available_;
  CounterFamily* const swaps_;
  CounterFamily* const failures_;
  absl::Mutex mu_;
  std::map<std::string, std::set<int64_t>> versions_ ABSL_GUARDED_BY(mu_);  // available, by name
  const std::unique_ptr<ServableEventBus::Subscription> subscription_;
};

// The gauge of what `in_use` tells of each version that takes memory. Both must outlive it.
std::unique_ptr<MetricsRegistry::Collection> CollectVersionMemory(
    std::function<std::map<ServableId, MemoryEstimate>()> in_use, MetricsRegistry* registry);

}  // namespace tessera::serving
