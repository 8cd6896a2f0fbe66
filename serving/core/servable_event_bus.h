// ServableEventBus: tells subscribers of every change of a version's state.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "serving/core/servable_state.h"

namespace tessera::serving {

// Hands every state change to every subscriber, in the order they happened.
//
//   auto subscription = bus.Subscribe([](const ServableState& state) { ... });
//   bus.Publish({id, State::kLoading, absl::OkStatus(), absl::Now()});
//
// Thread-safe. Subscribers run on the publisher's thread, one event at a time; they must be quick,
// and must not call the bus or the manager that publishes. The bus outlives its subscriptions.
class ServableEventBus {
 public:
  using Callback = std::function<void(const ServableState&)>;

  // The destructor ends the subscription. The callback does not run after it has returned.
  class Subscription {
   public:
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    friend class ServableEventBus;
    explicit Subscription(ServableEventBus* bus) : bus_(bus) {}
    ServableEventBus* const bus_;
    std::list<Callback>::iterator position_;
  };

  std::unique_ptr<Subscription> Subscribe(Callback callback);
  void Publish(ServableState state);

 private:
  absl::Mutex mu_;
  std::list<Callback> callbacks_ ABSL_GUARDED_BY(mu_);
  uint64_t last_sequence_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tessera::serving
