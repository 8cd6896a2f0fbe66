// AdmissionControl: the limits and the shares of all models of a server.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "runtime/host/share.h"
#include "serving/admission/limits_config.h"
#include "serving/admission/model_admission.h"
#include "serving/core/metrics.h"
#include "serving/core/rcu.h"
#include "serving/core/timer.h"

namespace tessera::serving {

// Thread-safe. The calls that requests make take no lock, but for ShareOf(). Requests must have
// ended before this is destroyed.
class AdmissionControl {
 public:
  // `shares` are those of the models by their names. Both must outlive this object.
  AdmissionControl(Shares* shares, MetricsRegistry* metrics);
  ~AdmissionControl();

  // Replaces the limits and the shares of all models. A model that is left out has no limits, and a
  // share of weight 1. What waits goes on as the new limits let it.
  void SetLimits(const LimitsConfigs& configs) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the blocks that SetLimits() got last.
  LimitsConfigs configs() const ABSL_LOCKS_EXCLUDED(mu_);

  // Whether any model has limits.
  bool HasLimits() const { return any_.load(std::memory_order_acquire); }
  // Returns null if a model has no limits. What is returned lives as long as this object.
  ModelAdmission* Find(absl::string_view model) const {
    if (!HasLimits()) [[likely]]
      return nullptr;
    return FindLimited(model);
  }
  // Returns the share of a model; null if it has none, because it was never loaded.
  const Share* ShareOf(absl::string_view model) const { return shares_->Find(model); }

 private:
  using ByName = absl::flat_hash_map<std::string, ModelAdmission*>;

  ModelAdmission* FindLimited(absl::string_view model) const;
  void ShowGauges(MetricsRegistry* metrics);

  Shares* const shares_;
  CounterFamily* const refused_;
  Timer timer_;
  mutable absl::Mutex mu_;
  LimitsConfigs configs_ ABSL_GUARDED_BY(mu_);
  // The admissions of all models that ever had limits, because requests may still be under way.
  std::map<std::string, std::unique_ptr<ModelAdmission>, std::less<>> all_ ABSL_GUARDED_BY(mu_);
  RcuPointer<ByName> limited_;  // those that have limits now
  std::atomic<bool> any_{false};
  std::vector<std::unique_ptr<MetricsRegistry::Collection>> gauges_;  // end first
};

}  // namespace tessera::serving
