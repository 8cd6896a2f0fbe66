#include "serving/core/servable_event_bus.h"

#include <utility>

namespace tessera::serving {

absl::string_view StateName(State state) {
  switch (state) {
    case State::kStart:
      return "START";
    case State::kLoading:
      return "LOADING";
    case State::kAvailable:
      return "AVAILABLE";
    case State::kUnloading:
      return "UNLOADING";
    case State::kEnd:
      return "END";
  }
  return "UNKNOWN";
}

std::unique_ptr<ServableEventBus::Subscription> ServableEventBus::Subscribe(Callback callback) {
  std::unique_ptr<Subscription> subscription(new Subscription(this));
  absl::MutexLock lock(&mu_);
  subscription->position_ = callbacks_.insert(callbacks_.end(), std::move(callback));
  return subscription;
}

ServableEventBus::Subscription::~Subscription() {
  absl::MutexLock lock(&bus_->mu_);
  bus_->callbacks_.erase(position_);
}

void ServableEventBus::Publish(ServableState state) {
  absl::MutexLock lock(&mu_);
  state.sequence = ++last_sequence_;
  for (const Callback& callback : callbacks_) callback(state);
}

}  // namespace tessera::serving
