// Waits of tests for what other threads do.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"

namespace tessera::serving {

// Returns true once `condition` is true. Returns false after a minute: that limit is for what
// hangs, and a machine with much else to do needs many seconds.
inline bool WaitUntil(absl::FunctionRef<bool()> condition) {
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

}  // namespace tessera::serving
