#include "serving/core/version_policy.h"

#include <algorithm>

namespace tessera::serving {
namespace {

using State = VersionSnapshot::State;

std::optional<VersionAction> UnloadLowestUnaspired(absl::Span<const VersionSnapshot> versions) {
  std::optional<VersionAction> action;
  for (const VersionSnapshot& v : versions) {
    if (v.aspired || v.state != State::kReady) continue;
    if (!action || v.version < action->version) {
      action = VersionAction{VersionAction::Kind::kUnload, v.version};
    }
  }
  return action;
}

std::optional<VersionAction> LoadHighestNew(absl::Span<const VersionSnapshot> versions) {
  std::optional<VersionAction> action;
  for (const VersionSnapshot& v : versions) {
    if (!v.aspired || v.state != State::kNew) continue;
    if (!action || v.version > action->version) {
      action = VersionAction{VersionAction::Kind::kLoad, v.version};
    }
  }
  return action;
}

}  // namespace

std::optional<VersionAction> AvailabilityPreservingPolicy::NextAction(
    absl::Span<const VersionSnapshot> versions) const {
  bool any_aspired = false;
  bool aspired_ready = false;
  int unaspired_ready = 0;
  for (const VersionSnapshot& v : versions) {
    any_aspired |= v.aspired;
    aspired_ready |= v.aspired && v.state == State::kReady;
    unaspired_ready += !v.aspired && v.state == State::kReady;
  }
  if (unaspired_ready > 0 && (!any_aspired || aspired_ready || unaspired_ready > 1)) {
    return UnloadLowestUnaspired(versions);
  }
  return LoadHighestNew(versions);
}

std::optional<VersionAction> ResourcePreservingPolicy::NextAction(
    absl::Span<const VersionSnapshot> versions) const {
  if (auto unload = UnloadLowestUnaspired(versions)) return unload;
  const bool something_in_memory =
      std::any_of(versions.begin(), versions.end(), [](const VersionSnapshot& v) {
        return !v.aspired && (v.state == State::kLoading || v.state == State::kUnloading);
      });
  return something_in_memory ? std::nullopt : LoadHighestNew(versions);
}

}  // namespace tessera::serving
