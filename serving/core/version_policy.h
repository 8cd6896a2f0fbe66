// The version policy: which version of a servable to load or unload next.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace tessera::serving {

// The state of one version, as the policy sees it.
struct VersionSnapshot {
  enum class State { kNew, kLoading, kReady, kUnloading, kEnded };
  int64_t version = 0;
  State state = State::kNew;
  bool aspired = false;
};

struct VersionAction {
  enum class Kind { kLoad, kUnload };
  Kind kind;
  int64_t version;
  friend bool operator==(const VersionAction&, const VersionAction&) = default;
};

// Returns the next action for the versions of one name; nothing if there is none to take now. The
// manager asks again after each action.
//
// The policy keeps a version ready at all times, at the price of memory for two. It unloads the
// lowest ready version that is not aspired if nothing is aspired, if an aspired version is ready,
// or if another version stays ready. Otherwise it loads the highest aspired version that is new.
std::optional<VersionAction> NextAction(absl::Span<const VersionSnapshot> versions);

}  // namespace tessera::serving
