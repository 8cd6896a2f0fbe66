#include "serving/frontend/dashboard/version_history.h"

namespace tessera::serving {

void VersionHistory::Add(const ServableState& state) {
  absl::MutexLock lock(&mu_);
  ++num_states_;
  states_.push_back(state);
  if (states_.size() > kMaxStates) states_.pop_front();
}

void VersionHistory::Add(const LoadReport& report) {
  absl::MutexLock lock(&mu_);
  loads_.push_back({++num_loads_, report});
  if (loads_.size() > kMaxLoads) loads_.pop_front();
}

std::vector<ServableState> VersionHistory::states() const {
  absl::MutexLock lock(&mu_);
  return {states_.begin(), states_.end()};
}

std::vector<VersionHistory::Load> VersionHistory::loads() const {
  absl::MutexLock lock(&mu_);
  return {loads_.begin(), loads_.end()};
}

uint64_t VersionHistory::revision() const {
  absl::MutexLock lock(&mu_);
  return num_states_ + num_loads_;
}

}  // namespace tessera::serving
