// LoadClock: the time that load is sent by and measured in.
#pragma once

#include "absl/time/time.h"

namespace tessera::serving {

// Thread-safe.
class LoadClock {
 public:
  virtual ~LoadClock() = default;
  // Since a moment that stays the same. Never goes back.
  virtual absl::Duration Now() = 0;
  // Returns at once if it is later already.
  virtual void SleepUntil(absl::Duration time) = 0;

  // The machine's. absl's follows the wall clock; what is measured must not jump with it.
  static LoadClock* Monotonic();
};

}  // namespace tessera::serving
