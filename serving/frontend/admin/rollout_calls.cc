#include "serving/frontend/admin/rollout_calls.h"

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

absl::Status NoRollout(absl::string_view model) {
  return absl::NotFoundError(absl::StrCat("model '", model,
                                          "' has no rollout: its configuration lacks the block "
                                          "'rollout'"));
}

}  // namespace

ListRolloutsResponse RolloutCalls::List() const {
  ListRolloutsResponse response;
  if (rollouts_ == nullptr) return response;
  for (RolloutStatus& status : rollouts_->Statuses()) *response.add_rollouts() = std::move(status);
  return response;
}

absl::StatusOr<RolloutStatus> RolloutCalls::Get(absl::string_view model) const {
  if (model.empty()) return absl::InvalidArgumentError("the request names no model");
  return rollouts_ == nullptr ? NoRollout(model) : rollouts_->StatusOf(model);
}

absl::StatusOr<RolloutStatus> RolloutCalls::Act(Action action,
                                                const RolloutRequest& request) const {
  if (request.model().empty()) return absl::InvalidArgumentError("the request names no model");
  if (request.version() < 0) {
    return absl::InvalidArgumentError(absl::StrCat("there is no version ", request.version()));
  }
  if (rollouts_ == nullptr) return NoRollout(request.model());
  return (rollouts_->*action)(request.model(), request.version());
}

RolloutCalls::Action RolloutCalls::ActionOf(absl::string_view name) {
  if (name == "promote") return &RolloutAdmin::Promote;
  if (name == "rollback") return &RolloutAdmin::Rollback;
  if (name == "pause") return &RolloutAdmin::Pause;
  if (name == "resume") return &RolloutAdmin::Resume;
  return nullptr;
}

}  // namespace tessera::serving
