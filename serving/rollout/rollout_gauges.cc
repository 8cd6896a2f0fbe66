#include "serving/rollout/rollout_gauges.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

constexpr double kPartsPerPercent = 1e4;  // of a share in parts per million

}  // namespace

RolloutGauges::RolloutGauges(MetricsRegistry* metrics) {
  Add(metrics, "phase", &Values::phase);
  Add(metrics, "stable_version", &Values::stable_version);
  Add(metrics, "candidate_version", &Values::candidate_version);
  Add(metrics, "candidate_share_ppm", &Values::share_ppm);
}

void RolloutGauges::Add(MetricsRegistry* metrics, absl::string_view name, double Values::*value) {
  collections_.push_back(metrics->CollectGauge(
      absl::StrCat("/tessera/serving/rollout_", name), {"model_name"}, [this, value] {
        std::vector<MetricSample> samples;
        absl::MutexLock lock(&mu_);
        for (const auto& [model, values] : values_) {
          samples.push_back({.values = {model}, .value = values.*value});
        }
        return samples;
      }));
}

void RolloutGauges::Show(const RolloutStatus& status) {
  absl::MutexLock lock(&mu_);
  values_[status.model()] = {
      .phase = static_cast<double>(status.phase()),
      .stable_version = static_cast<double>(status.stable_version()),
      .candidate_version = static_cast<double>(status.candidate_version()),
      .share_ppm = std::round(status.share_percent() * kPartsPerPercent),
  };
}

void RolloutGauges::Remove(absl::string_view model) {
  absl::MutexLock lock(&mu_);
  if (const auto it = values_.find(model); it != values_.end()) values_.erase(it);
}

}  // namespace tessera::serving
