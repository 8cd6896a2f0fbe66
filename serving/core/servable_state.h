// What state a version is in, as clients are told by GetModelStatus.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// The states of tensorflow.serving.ModelVersionStatus, with its numbers. A version goes through
// them in this order, and may skip some: one whose load fails goes from kLoading to kEnd.
enum class State {
  kStart = 10,      // aspired; nothing has been done yet
  kLoading = 20,    // being loaded, or waiting to be loaded again after a failure
  kAvailable = 30,  // answers requests
  kUnloading = 40,  // answers no new request; those that hold it may finish
  kEnd = 50,        // gone, or failed: then its health says why
};

// "START" and so on.
absl::string_view StateName(State state);

struct ServableState {
  ServableId id;
  State state = State::kStart;
  absl::Status health;  // not OK: why the version is at its end
  absl::Time time;      // when it came into this state
  // Place among all events of the bus, counted from 1; the bus sets it.
  uint64_t sequence = 0;
};

}  // namespace tessera::serving
