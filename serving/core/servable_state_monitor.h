// ServableStateMonitor: remembers the states of all versions, and waits for states.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/core/servable_event_bus.h"

namespace tessera::serving {

// Thread-safe.
class ServableStateMonitor {
 public:
  // The latest state of each version of one name, highest version first.
  using VersionStates = std::map<int64_t, ServableState, std::greater<>>;
  using AllStates = std::map<std::string, VersionStates, std::less<>>;

  // How many ended versions of one name are remembered. The lowest are forgotten first. Without a
  // limit, a model that is replaced every minute would fill memory.
  static constexpr size_t kMaxEndedVersions = 100;

  // `bus` must outlive the monitor. The monitor sees events from now on.
  explicit ServableStateMonitor(ServableEventBus* bus);

  // Returns the states of all versions of a name that this process has seen, whether they are still
  // served or not.
  VersionStates StatesOf(absl::string_view name) const;

  // Returns the states of all versions of all names.
  AllStates All() const;

  // Calls `condition` with the states, now and after each event, until it returns true; then
  // returns true. Returns false once the deadline has passed. `condition` must not call the
  // monitor.
  bool WaitUntil(absl::FunctionRef<bool(const AllStates&)> condition, absl::Time deadline) const;
  // Returns the sequence number of the last event seen; 0 before the first.
  uint64_t last_sequence() const;
  // Makes calls of WaitUntil() evaluate their condition again. For conditions that depend on more
  // than events.
  void Wake();

 private:
  void HandleEvent(const ServableState& state);

  mutable absl::Mutex mu_;
  mutable absl::CondVar changed_;
  AllStates states_ ABSL_GUARDED_BY(mu_);
  uint64_t last_sequence_ ABSL_GUARDED_BY(mu_) = 0;
  const std::unique_ptr<ServableEventBus::Subscription> subscription_;
};

}  // namespace tessera::serving
