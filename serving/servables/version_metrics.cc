#include "serving/servables/version_metrics.h"

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

}  // namespace tessera::serving
