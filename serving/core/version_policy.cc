#include "serving/core/version_policy.h"

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

std::optional<VersionAction> NextAction(absl::Span<const VersionSnapshot> versions) {
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

}  // namespace tessera::serving
