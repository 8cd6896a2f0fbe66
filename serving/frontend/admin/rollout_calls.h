// RolloutCalls: the calls of AdminService as functions of messages, whatever protocol they came by.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serving/rollout/rollout_admin.h"
#include "tessera/admin.pb.h"

namespace tessera::serving {

// Asks a RolloutAdmin, which is null where no model has a rollout. Thread-safe.
class RolloutCalls {
 public:
  // `rollouts` must outlive the object.
  explicit RolloutCalls(RolloutAdmin* rollouts) : rollouts_(rollouts) {}

  ListRolloutsResponse List() const;
  absl::StatusOr<RolloutStatus> Get(absl::string_view model) const;

  // Errors: those of RolloutAdmin; INVALID_ARGUMENT without a model, or for a negative version.
  using Action = absl::StatusOr<RolloutStatus> (RolloutAdmin::*)(absl::string_view model,
                                                                 int64_t version);
  absl::StatusOr<RolloutStatus> Act(Action action, const RolloutRequest& request) const;

  // Returns the action of a name, "promote", "rollback", "pause" or "resume"; null for all others.
  static Action ActionOf(absl::string_view name);

 private:
  RolloutAdmin* const rollouts_;
};

}  // namespace tessera::serving
