#include "serving/core/servable_state_monitor.h"

namespace tessera::serving {

ServableStateMonitor::ServableStateMonitor(ServableEventBus* bus)
    : subscription_(bus->Subscribe([this](const ServableState& state) { HandleEvent(state); })) {}

void ServableStateMonitor::HandleEvent(const ServableState& state) {
  absl::MutexLock lock(&mu_);
  VersionStates& versions = states_[state.id.name];
  versions[state.id.version] = state;
  if (state.state == State::kEnd && versions.size() > kMaxEndedVersions) {
    for (auto it = std::prev(versions.end()); it != versions.begin(); --it) {
      if (it->second.state == State::kEnd) {
        versions.erase(it);
        break;
      }
    }
  }
  last_sequence_ = state.sequence;
  changed_.SignalAll();
}

ServableStateMonitor::VersionStates ServableStateMonitor::StatesOf(absl::string_view name) const {
  absl::MutexLock lock(&mu_);
  auto it = states_.find(name);
  return it == states_.end() ? VersionStates() : it->second;
}

ServableStateMonitor::AllStates ServableStateMonitor::All() const {
  absl::MutexLock lock(&mu_);
  return states_;
}

uint64_t ServableStateMonitor::last_sequence() const {
  absl::MutexLock lock(&mu_);
  return last_sequence_;
}

bool ServableStateMonitor::WaitUntil(absl::FunctionRef<bool(const AllStates&)> condition,
                                     absl::Time deadline) const {
  absl::MutexLock lock(&mu_);
  while (!condition(states_)) {
    if (changed_.WaitWithDeadline(&mu_, deadline)) return condition(states_);
  }
  return true;
}

void ServableStateMonitor::Wake() {
  absl::MutexLock lock(&mu_);
  changed_.SignalAll();
}

}  // namespace tessera::serving
