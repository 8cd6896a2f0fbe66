// Remembers the states of all versions that were ever published, and waits for them.
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
  // Latest states by version, highest version first.
  using VersionStates = std::map<int64_t, ServableState, std::greater<>>;
  using AllStates = std::map<std::string, VersionStates, std::less<>>;

  // Ended versions of one name that are remembered. The lowest are forgotten first: a model that is
  // replaced every minute must not fill memory.
  static constexpr size_t kMaxEndedVersions = 100;

  // `bus` must outlive the monitor, which sees the events from now on.
  explicit ServableStateMonitor(ServableEventBus* bus);

  // Of all versions of a name this process has seen, whether still served or not; may be empty.
  VersionStates StatesOf(absl::string_view name) const;

  // Calls `condition` on the states now and after each event until it is true, and returns true; or
  // false once `deadline` is over. Must not call the monitor from `condition`.
  bool WaitUntil(absl::FunctionRef<bool(const AllStates&)> condition, absl::Time deadline) const;
  // Sequence number of the last event seen; 0 before the first.
  uint64_t last_sequence() const;
  // Makes waiting calls look at their condition again, for one that depends on more than events.
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
