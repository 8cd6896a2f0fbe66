#include "serving/frontend/admin/testing/test_rollouts.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera::serving {

void TestRollouts::Set(const std::string& model, int64_t stable, int64_t candidate) {
  absl::MutexLock lock(&mu_);
  RolloutStatus& status = models_[model];
  status.set_model(model);
  status.set_stable_version(stable);
  status.set_candidate_version(candidate);
  status.set_phase(candidate == 0 ? ROLLOUT_IDLE : ROLLOUT_STEP);
  status.set_share_percent(candidate == 0 ? 0 : 10);
}

void TestRollouts::Tell(const std::string& model, const std::string& kind) {
  absl::MutexLock lock(&mu_);
  TellLocked(model, kind);
}

void TestRollouts::TellLocked(const std::string& model, const std::string& kind) {
  RolloutEvent event;
  event.set_model(model);
  event.set_kind(kind);
  event.set_version(models_[model].candidate_version());
  events_.push_back(event);
  for (const auto& [number, watch] : watches_) watch(event);
}

std::vector<RolloutStatus> TestRollouts::Statuses() const {
  absl::MutexLock lock(&mu_);
  std::vector<RolloutStatus> all;
  for (const auto& [model, status] : models_) all.push_back(status);
  return all;
}

absl::StatusOr<RolloutStatus> TestRollouts::StatusOf(absl::string_view model) const {
  absl::MutexLock lock(&mu_);
  const auto found = models_.find(std::string(model));
  if (found == models_.end()) return absl::NotFoundError("no such model");
  return found->second;
}

absl::StatusOr<RolloutStatus*> TestRollouts::Find(absl::string_view model, int64_t version) {
  const auto found = models_.find(std::string(model));
  if (found == models_.end()) return absl::NotFoundError("no such model");
  const int64_t candidate = found->second.candidate_version();
  if (candidate == 0 || (version != 0 && version != candidate)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the candidate is ", candidate, ", not ", version));
  }
  return &found->second;
}

absl::StatusOr<RolloutStatus> TestRollouts::Promote(absl::string_view model, int64_t version) {
  absl::MutexLock lock(&mu_);
  ASSIGN_OR_RETURN(RolloutStatus* const status, Find(model, version));
  TellLocked(status->model(), "promoted");
  status->set_stable_version(status->candidate_version());
  status->set_candidate_version(0);
  status->set_phase(ROLLOUT_IDLE);
  return *status;
}

absl::StatusOr<RolloutStatus> TestRollouts::Rollback(absl::string_view model, int64_t version) {
  absl::MutexLock lock(&mu_);
  ASSIGN_OR_RETURN(RolloutStatus* const status, Find(model, version));
  TellLocked(status->model(), "rolled_back");
  status->add_rejected_versions(status->candidate_version());
  status->set_candidate_version(0);
  status->set_phase(ROLLOUT_IDLE);
  return *status;
}

absl::StatusOr<RolloutStatus> TestRollouts::Pause(absl::string_view model, int64_t version) {
  absl::MutexLock lock(&mu_);
  ASSIGN_OR_RETURN(RolloutStatus* const status, Find(model, version));
  TellLocked(status->model(), "paused");
  status->set_phase(ROLLOUT_PAUSED);
  return *status;
}

absl::StatusOr<RolloutStatus> TestRollouts::Resume(absl::string_view model, int64_t version) {
  absl::MutexLock lock(&mu_);
  ASSIGN_OR_RETURN(RolloutStatus* const status, Find(model, version));
  TellLocked(status->model(), "resumed");
  status->set_phase(ROLLOUT_STEP);
  return *status;
}

std::vector<RolloutEvent> TestRollouts::RecentEvents() const {
  absl::MutexLock lock(&mu_);
  return events_;
}

std::shared_ptr<void> TestRollouts::WatchEvents(Watch watch) {
  absl::MutexLock lock(&mu_);
  const int number = next_watch_++;
  watches_[number] = std::move(watch);
  return std::shared_ptr<void>(nullptr, [this, number](void*) {
    absl::MutexLock lock(&mu_);
    watches_.erase(number);
  });
}

}  // namespace tessera::serving
