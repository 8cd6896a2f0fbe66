// ServableState: the state of a version, as GetModelStatus tells clients.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// The states of tensorflow.serving.ModelVersionStatus, with the same numbers. A version goes
// through them in this order and may skip some. For example, it goes from kLoading to kEnd if its
// load fails.
enum class State {
  kStart = 10,      // aspired; nothing has been done yet
  kLoading = 20,    // being loaded, or waiting to be loaded again after a failure
  kAvailable = 30,  // answers requests
  kUnloading = 40,  // answers no new request; those that hold it may finish
  kEnd = 50,        // unloaded, or failed; after a failure, health says why
};

// Returns "START", "LOADING" and so on.
absl::string_view StateName(State state);

struct ServableState {
  ServableId id;
  State state = State::kStart;
  // Why the version failed, or why the last try to load it did if it is to be tried again; OK if it
  // did not.
  absl::Status health;
  absl::Time time;  // when the version entered this state
  // Number of this event among all events of the bus, counted from 1. The bus sets it.
  uint64_t sequence = 0;
};

}  // namespace tessera::serving
