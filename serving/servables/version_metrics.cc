#include "serving/servables/version_metrics.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tessera::serving {

VersionMetrics::VersionMetrics(ServableEventBus* bus, MetricsRegistry* registry)
    : available_(registry->AddGauge("/tessera/serving/available_versions", {"model_name"})),
      swaps_(registry->AddCounter("/tessera/serving/version_swaps", {"model_name"})),
      failures_(registry->AddCounter("/tessera/serving/failed_versions", {"model_name"})),
      subscription_(bus->Subscribe([this](const ServableState& state) { HandleEvent(state); })) {}

void VersionMetrics::HandleEvent(const ServableState& state) {
  const std::string& name = state.id.name;
  if (state.state == State::kEnd && !state.health.ok()) failures_->Get({name}).Increment();
  absl::MutexLock lock(&mu_);
  std::set<int64_t>& versions = versions_[name];
  if (state.state == State::kAvailable) {
    if (!versions.empty()) swaps_->Get({name}).Increment();
    versions.insert(state.id.version);
  } else {
    versions.erase(state.id.version);
  }
  available_->Get({name}).Set(static_cast<int64_t>(versions.size()));
}

std::unique_ptr<MetricsRegistry::Collection> CollectVersionMemory(
    std::function<std::map<ServableId, MemoryEstimate>()> in_use, MetricsRegistry* registry) {
  return registry->CollectGauge(
      "/tessera/serving/version_memory_bytes", {"model_name", "version", "kind"},
      [in_use = std::move(in_use)] {
        std::vector<MetricsRegistry::Sample> samples;
        for (const auto& [id, estimate] : in_use()) {
          const std::string version = absl::StrCat(id.version);
          samples.push_back({{id.name, version, "heap"}, estimate.heap});
          samples.push_back({{id.name, version, "mapped"}, estimate.mapped});
        }
        return samples;
      });
}

}  // namespace tessera::serving
