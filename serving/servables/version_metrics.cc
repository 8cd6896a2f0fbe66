#include "serving/servables/version_metrics.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tessera::serving {

VersionMetrics::VersionMetrics(ServableEventBus* bus, MetricsRegistry* registry)
    : swaps_(registry->AddCounter("/tessera/serving/version_swaps", {"model_name"})),
      failures_(registry->AddCounter("/tessera/serving/failed_versions", {"model_name"})),
      subscription_(bus->Subscribe([this](const ServableState& state) { HandleEvent(state); })) {}

void VersionMetrics::HandleEvent(const ServableState& state) {
  const std::string& name = state.id.name;
  // Both are shown from the first event on: Prometheus sees no increase from nothing to 1.
  Counter& swaps = swaps_->Get({name});
  Counter& failures = failures_->Get({name});
  if (state.state == State::kEnd && !state.health.ok()) failures.Increment();
  absl::MutexLock lock(&mu_);
  std::set<int64_t>& versions = versions_[name];
  if (state.state == State::kAvailable) {
    if (!versions.empty()) swaps.Increment();
    versions.insert(state.id.version);
  } else {
    versions.erase(state.id.version);
  }
}

std::unique_ptr<MetricsRegistry::Collection> CollectAvailableVersions(
    std::function<std::map<std::string, int64_t>()> counts, MetricsRegistry* registry) {
  return registry->CollectGauge("/tessera/serving/available_versions", {"model_name"},
                                [counts = std::move(counts)] {
                                  std::vector<MetricsRegistry::Sample> samples;
                                  for (const auto& [name, count] : counts()) {
                                    samples.push_back({{name}, static_cast<double>(count)});
                                  }
                                  return samples;
                                });
}

std::unique_ptr<MetricsRegistry::Collection> CollectVersionMemory(
    std::function<std::map<ServableId, MemoryEstimate>()> in_use, MetricsRegistry* registry) {
  return registry->CollectGauge(
      "/tessera/serving/version_memory_bytes", {"model_name", "version", "kind"},
      [in_use = std::move(in_use)] {
        std::vector<MetricsRegistry::Sample> samples;
        for (const auto& [id, estimate] : in_use()) {
          const std::string version = absl::StrCat(id.version);
          samples.push_back({{id.name, version, "heap"}, static_cast<double>(estimate.heap)});
          samples.push_back({{id.name, version, "mapped"}, static_cast<double>(estimate.mapped)});
        }
        return samples;
      });
}

}  // namespace tessera::serving
