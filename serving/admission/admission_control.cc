#include "serving/admission/admission_control.h"

#include <utility>

namespace tessera::serving {
namespace {

// Whether a block has more than a share.
bool BoundsRequests(const LimitsConfig& config) {
  return config.has_max_concurrent_requests() || config.has_timeout_ms() ||
         config.has_max_request_bytes();
}

}  // namespace

AdmissionControl::AdmissionControl(Shares* shares, MetricsRegistry* metrics)
    : shares_(shares),
      refused_(metrics->AddCounter("/tessera/serving/limited_requests", {"model_name", "reason"})) {
  ShowGauges(metrics);
}

AdmissionControl::~AdmissionControl() = default;

void AdmissionControl::SetLimits(const LimitsConfigs& configs) {
  absl::MutexLock lock(&mu_);
  for (const auto& [name, config] : configs_) shares_->Get(name)->set_weight(1);
  auto limited = std::make_unique<ByName>();
  for (const auto& [name, config] : configs) {
    shares_->Get(name)->set_weight(config.has_share() ? static_cast<int>(config.share()) : 1);
    if (!BoundsRequests(config)) continue;
    std::unique_ptr<ModelAdmission>& admission = all_[name];
    if (admission == nullptr) {
      admission = std::make_unique<ModelAdmission>(name, &timer_, refused_);
    }
    limited->emplace(name, admission.get());
  }
  for (const auto& [name, admission] : all_) {
    const auto config = limited->contains(name) ? configs.find(name) : configs.end();
    admission->SetLimits(config == configs.end() ? LimitsConfig() : config->second);
  }
  any_.store(!limited->empty(), std::memory_order_release);
  limited_.Publish(std::move(limited));
  configs_ = configs;
}

LimitsConfigs AdmissionControl::configs() const {
  absl::MutexLock lock(&mu_);
  return configs_;
}

ModelAdmission* AdmissionControl::FindLimited(absl::string_view model) const {
  return limited_.Read([model](const ByName* limited) -> ModelAdmission* {
    if (limited == nullptr) return nullptr;
    const auto it = limited->find(model);
    return it == limited->end() ? nullptr : it->second;
  });
}

void AdmissionControl::ShowGauges(MetricsRegistry* metrics) {
  const auto show = [&](absl::string_view name, int (ModelAdmission::*value)() const) {
    gauges_.push_back(metrics->CollectGauge(name, {"model_name"}, [this, value] {
      std::vector<MetricSample> samples;
      absl::MutexLock lock(&mu_);
      for (const auto& [model, admission] : all_) {
        samples.push_back({{model}, static_cast<double>((admission.get()->*value)())});
      }
      return samples;
    }));
  };
  show("/tessera/serving/limited_requests_running", &ModelAdmission::num_running);
  show("/tessera/serving/limited_requests_waiting", &ModelAdmission::num_waiting);
}

}  // namespace tessera::serving
