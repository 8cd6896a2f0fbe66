// Version policies: which version of a servable to load or unload next.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace tessera::serving {

// What a policy sees of one version.
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

// Decides from the versions of one name alone. Asked again after each action, until it has none.
// Immutable.
class VersionPolicy {
 public:
  virtual ~VersionPolicy() = default;
  // Loads aspired versions in state kNew, or unloads versions in state kReady that are not aspired.
  virtual std::optional<VersionAction> NextAction(
      absl::Span<const VersionSnapshot> versions) const = 0;
};

// Keeps a version ready at all times, at the price of memory for two: unloads, lowest first, when
// nothing is aspired, when an aspired version is ready, or when it leaves another version ready;
// else loads the highest aspired version that is new.
class AvailabilityPreservingPolicy : public VersionPolicy {
 public:
  std::optional<VersionAction> NextAction(
      absl::Span<const VersionSnapshot> versions) const override;
};

// Keeps memory at one set of versions, at the price of a gap: unloads everything that is not
// aspired, waits until it is gone, and only then loads, highest first.
class ResourcePreservingPolicy : public VersionPolicy {
 public:
  std::optional<VersionAction> NextAction(
      absl::Span<const VersionSnapshot> versions) const override;
};

}  // namespace tessera::serving
