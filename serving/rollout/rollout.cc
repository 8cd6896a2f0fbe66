#include "serving/rollout/rollout.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/valid_utf8.h"

namespace tessera::serving {
namespace {

// The most rejected versions that are remembered. The lowest are forgotten first.
constexpr int kMaxRejected = 100;

}  // namespace

Rollout::Rollout(std::string model, RolloutConfig config, RolloutState::Model saved, Start start)
    : model_(std::move(model)), saved_(std::move(saved)), is_cautious_(start == Start::kCautious) {
  SetConfig(std::move(config));
}

void Rollout::SetConfig(RolloutConfig config) {
  config_ = std::move(config);
  saved_.set_step(std::clamp(saved_.step(), 0, config_.steps_size() - 1));
}

void Rollout::SetVersions(absl::Time now, std::map<int64_t, uint64_t> revisions) {
  on_disk_ = std::move(revisions);
  Settle(now);
}

void Rollout::NoteState(absl::Time now, const ServableState& state) {
  const int64_t version = state.id.version;
  const bool was_wanted = Wanted().contains(version);
  const bool failed = state.state == State::kEnd && !state.health.ok();
  if (state.state == State::kEnd) {
    in_memory_.erase(version);
  } else {
    in_memory_.insert(version);
  }
  if (state.state == State::kAvailable) {
    available_.insert(version);
  } else {
    available_.erase(version);
  }
  if (failed) {
    failed_[version] = state.health;
  } else {
    failed_.erase(version);
  }
  // A load without room is in its first state until all tries are over, which do not help.
  const bool lacks_room = absl::IsResourceExhausted(state.health) &&
                          (failed || state.state == State::kStart) &&
                          in_memory_.contains(saved_.previous_version());
  // What becomes of a version that is not wanted any more, or of a model that is not served, says
  // nothing about it.
  if (lacks_room && was_wanted && version == saved_.candidate_version()) {
    making_room_ = saved_.previous_version();
    saved_.set_previous_version(0);
  } else if (failed && was_wanted && version == saved_.candidate_version()) {
    if (absl::IsResourceExhausted(state.health)) {
      load_again_at_ = now + kMemoryRetryInterval;
      if (!std::exchange(lacks_memory_, true)) {
        Tell(now, "held", version,
             absl::StrCat("version ", version, " lacks memory, and is tried again every ",
                          absl::FormatDuration(kMemoryRetryInterval), ": ",
                          state.health.ToString()));
      }
    } else {
      RejectCandidate(now,
                      absl::StrCat("version ", version,
                                   step_began_ ? " can no longer be served: " : " was not loaded: ",
                                   state.health.ToString()),
                      /*by_hand=*/false);
    }
  } else if (failed && was_wanted && version == saved_.stable_version() &&
             available_.contains(saved_.previous_version())) {
    GoBack(now,
           absl::StrCat("version ", version, " can no longer be served: ", state.health.ToString()),
           /*by_hand=*/false);
  }
  Settle(now);
}

void Rollout::Settle(absl::Time now) {
  if (on_disk_.empty()) {
    step_began_.reset();
    return;
  }
  if (making_room_ != 0 && !in_memory_.contains(making_room_)) making_room_ = 0;
  ChooseStable(now, DropWhatIsGone(now));
  ChooseCandidate(now);
  const int64_t candidate = saved_.candidate_version();
  if (!step_began_ && available_.contains(candidate)) {
    BeginStep(now, saved_.step(), absl::StrCat("version ", candidate, " is loaded"));
  }
}

std::string Rollout::DropWhatIsGone(absl::Time now) {
  std::string lost;
  const int64_t candidate = saved_.candidate_version();
  if (candidate != 0 && !IsOnDisk(candidate)) {
    DropCandidate();
    Tell(now, "rolled_back", candidate,
         absl::StrCat("the folder of version ", candidate, " is gone"));
  }
  const int64_t stable = saved_.stable_version(), previous = saved_.previous_version();
  if (stable != 0 && !IsOnDisk(stable)) {
    const std::string reason = absl::StrCat("the folder of version ", stable, " is gone");
    if (IsOnDisk(previous)) {
      saved_.set_stable_version(previous);
      saved_.set_previous_version(0);
      Tell(now, "rolled_back", stable, reason);
    } else if (!in_memory_.contains(stable)) {
      saved_.set_stable_version(0);
      lost = reason;
    }
  }
  if (previous != 0 && !IsThere(previous)) saved_.set_previous_version(0);
  return lost;
}

bool Rollout::IsRejected(int64_t version) const {
  const auto on_disk = on_disk_.find(version);
  for (const auto& rejected : saved_.rejected()) {
    if (rejected.version() == version) {
      return on_disk == on_disk_.end() || rejected.revision() == on_disk->second;
    }
  }
  return false;
}

int64_t Rollout::BestEligible(int64_t except) const {
  int64_t highest = 0, highest_unfailed = 0;
  for (auto it = on_disk_.rbegin(); it != on_disk_.rend(); ++it) {
    const int64_t version = it->first;
    if (version == except || IsRejected(version)) continue;
    if (available_.contains(version)) return version;
    if (highest == 0) highest = version;
    if (highest_unfailed == 0 && !failed_.contains(version)) highest_unfailed = version;
  }
  return highest_unfailed != 0 ? highest_unfailed : highest;
}

void Rollout::ChooseStable(absl::Time now, const std::string& lost) {
  if (saved_.stable_version() != 0) return;
  if (is_cautious_ && on_disk_.size() > 1) {
    const int64_t second = std::next(on_disk_.rbegin())->first;
    MakeStable(now, second,
               absl::StrCat("the state of the rollouts was lost; version ", second,
                            ", the second highest, counts as stable"));
  } else if (const int64_t other = BestEligible(saved_.candidate_version()); other != 0) {
    MakeStable(now, other,
               absl::StrCat(lost.empty() ? "no version was stable" : lost, "; version ", other,
                            " has all traffic at once"));
  } else if (const int64_t candidate = saved_.candidate_version(); candidate != 0) {
    DropCandidate();
    MakeStable(now, candidate,
               absl::StrCat(lost, lost.empty() ? "" : "; ", "there is no version beside ",
                            candidate, ", which has all traffic at once"));
  } else {
    const std::string reason =
        absl::StrCat(lost.empty() ? "no version was stable" : lost,
                     "; those that are there were rolled back, and none of them is served");
    if (reason_.empty() || !lost.empty()) Tell(now, "held", on_disk_.rbegin()->first, reason);
  }
  is_cautious_ = false;
  const int64_t candidate = saved_.candidate_version();
  if (candidate != 0 && candidate <= saved_.stable_version()) {
    DropCandidate();
    Tell(now, "superseded", candidate,
         absl::StrCat("version ", saved_.stable_version(), " is stable and higher"));
  }
}

void Rollout::ChooseCandidate(absl::Time now) {
  const int64_t highest = on_disk_.rbegin()->first;
  const uint64_t revision = on_disk_.rbegin()->second;
  const int64_t candidate = saved_.candidate_version(), stable = saved_.stable_version();
  if (stable == 0 || highest <= stable || IsRejected(highest)) return;
  if (highest == candidate) {
    // A candidate that is loaded is tried with the files that it was loaded from.
    if (revision == saved_.candidate_revision() || available_.contains(candidate)) return;
    saved_.set_candidate_revision(revision);
    saved_.set_step(0);
    return;
  }
  // A version that is still being unloaded has to go first: it may have been loaded from other
  // files.
  if (in_memory_.contains(highest)) return;
  auto& rejected = *saved_.mutable_rejected();
  rejected.erase(std::remove_if(rejected.begin(), rejected.end(),
                                [&](const auto& r) { return r.version() == highest; }),
                 rejected.end());
  if (failed_.contains(stable)) {
    DropCandidate();
    MakeStable(now, highest,
               absl::StrCat("version ", stable, " cannot be served; version ", highest,
                            " has all traffic at once"));
    return;
  }
  if (candidate != 0) {
    DropCandidate();
    Tell(now, "superseded", candidate, absl::StrCat("version ", highest, " is there"));
  }
  evidence_ = {};
  saved_.set_candidate_version(highest);
  saved_.set_candidate_revision(revision);
  // The manager loads a version that failed again only if it was not wanted in between.
  if (failed_.contains(highest)) load_again_at_ = now;
  Tell(now, "started", highest, absl::StrCat("version ", highest, " is there and is being loaded"));
}

void Rollout::MakeStable(absl::Time now, int64_t version, const std::string& reason) {
  saved_.set_stable_version(version);
  Tell(now, "promoted", version, reason);
}

void Rollout::DropCandidate() {
  saved_.clear_candidate_version();
  saved_.clear_candidate_revision();
  saved_.clear_step();
  saved_.clear_paused();
  lacks_memory_ = false;
  load_again_at_.reset();
  step_began_.reset();
  is_held_ = false;
}

void Rollout::BeginStep(absl::Time now, int index, const std::string& reason) {
  saved_.set_step(index);
  // The last step gives the candidate all traffic. Without a duration that is its promotion.
  const bool is_last = index + 1 == config_.steps_size();
  if (is_last && step().duration_seconds() == 0 && !saved_.paused()) {
    return PromoteCandidate(now, reason, /*by_hand=*/false);
  }
  step_began_ = now;
  is_held_ = false;
  ++steps_begun_;
  Tell(now, "step", saved_.candidate_version(), reason);
  evidence_ = {};
}

void Rollout::LoadAgain(absl::Time now) {
  if (load_again_at_ && now >= *load_again_at_) load_again_at_.reset();
}

void Rollout::Advance(absl::Time now, const Evidence& evidence) {
  if (!step_began_) return;
  evidence_ = evidence;
  if (saved_.paused()) return;
  const Verdict& verdict = evidence.verdict;
  if (verdict.judgement == Judgement::kFail) {
    return RejectCandidate(now, verdict.reason, /*by_hand=*/false);
  }
  if (now - *step_began_ < absl::Seconds(step().duration_seconds())) return;
  if (verdict.judgement == Judgement::kTooFew && !config_.pass_without_requests()) {
    if (!std::exchange(is_held_, true)) {
      Tell(now, "held", saved_.candidate_version(), verdict.reason);
    }
    return;
  }
  const int next = saved_.step() + 1;
  if (next < config_.steps_size()) {
    BeginStep(now, next, verdict.reason);
  } else {
    PromoteCandidate(now, verdict.reason, /*by_hand=*/false);
  }
}

void Rollout::PromoteCandidate(absl::Time now, const std::string& reason, bool by_hand) {
  const int64_t candidate = saved_.candidate_version();
  DropCandidate();
  saved_.set_previous_version(saved_.stable_version());
  saved_.set_stable_version(candidate);
  Tell(now, "promoted", candidate, reason, by_hand);
}

void Rollout::RejectCandidate(absl::Time now, const std::string& reason, bool by_hand) {
  const int64_t candidate = saved_.candidate_version();
  Reject(candidate, saved_.candidate_revision(), reason);
  DropCandidate();
  Tell(now, "rolled_back", candidate, reason, by_hand);
}

void Rollout::GoBack(absl::Time now, const std::string& reason, bool by_hand) {
  const int64_t stable = saved_.stable_version();
  const auto on_disk = on_disk_.find(stable);
  if (on_disk != on_disk_.end()) Reject(stable, on_disk->second, reason);
  saved_.set_stable_version(saved_.previous_version());
  saved_.set_previous_version(0);
  Tell(now, "rolled_back", stable, reason, by_hand);
}

void Rollout::Reject(int64_t version, uint64_t revision, const std::string& reason) {
  auto& all = *saved_.mutable_rejected();
  all.erase(
      std::remove_if(all.begin(), all.end(), [&](const auto& r) { return r.version() == version; }),
      all.end());
  auto* rejected = all.Add();
  rejected->set_version(version);
  rejected->set_revision(revision);
  rejected->set_reason(ToValidUtf8(reason));
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.version() < b.version(); });
  if (all.size() > kMaxRejected) all.DeleteSubrange(0, all.size() - kMaxRejected);
}

absl::Status Rollout::CheckCandidate(absl::string_view action, int64_t version) const {
  const int64_t candidate = saved_.candidate_version();
  if (candidate == 0) {
    return absl::FailedPreconditionError(absl::StrCat("there is nothing to ", action, ": model ",
                                                      model_, " has no candidate; version ",
                                                      saved_.stable_version(), " is stable"));
  }
  if (version != 0 && version != candidate) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", version, " of model ", model_, " is not being tried; version ", candidate,
        " is. Look at the rollout's status and repeat the command for that version"));
  }
  return absl::OkStatus();
}

absl::Status Rollout::Promote(absl::Time now, int64_t version) {
  if (absl::Status status = CheckCandidate("promote", version); !status.ok()) return status;
  const int64_t candidate = saved_.candidate_version();
  if (!available_.contains(candidate)) {
    return absl::FailedPreconditionError(absl::StrCat("version ", candidate, " of model ", model_,
                                                      " is still being loaded; promote it later"));
  }
  PromoteCandidate(now, "promoted by hand", /*by_hand=*/true);
  return absl::OkStatus();
}

absl::Status Rollout::Rollback(absl::Time now, int64_t version) {
  const int64_t stable = saved_.stable_version(), previous = saved_.previous_version();
  if (saved_.candidate_version() != 0) {
    if (absl::Status status = CheckCandidate("roll back", version); !status.ok()) return status;
    RejectCandidate(now, "rolled back by hand", /*by_hand=*/true);
    Settle(now);
    return absl::OkStatus();
  }
  if (version != 0 && version != stable) {
    return absl::FailedPreconditionError(absl::StrCat("version ", version, " of model ", model_,
                                                      " is not being tried; version ", stable,
                                                      " is stable and has all traffic"));
  }
  if (previous == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("model ", model_, " has no version to go back to from version ", stable));
  }
  if (!available_.contains(previous)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", previous, " of model ", model_,
        ", to which the rollout would go back, is not loaded; see the model's status"));
  }
  GoBack(now, "rolled back by hand", /*by_hand=*/true);
  Settle(now);
  return absl::OkStatus();
}

absl::Status Rollout::Pause(absl::Time now, int64_t version) {
  if (absl::Status status = CheckCandidate("pause", version); !status.ok()) return status;
  const int64_t candidate = saved_.candidate_version();
  if (saved_.paused()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the rollout of model ", model_, " is paused already"));
  }
  if (!step_began_) {
    return absl::FailedPreconditionError(
        absl::StrCat("version ", candidate, " of model ", model_,
                     " is still being loaded; pause it later, or roll it back"));
  }
  saved_.set_paused(true);
  Tell(now, "paused", candidate, "paused by hand", /*by_hand=*/true);
  return absl::OkStatus();
}

absl::Status Rollout::Resume(absl::Time now, int64_t version) {
  if (absl::Status status = CheckCandidate("resume", version); !status.ok()) return status;
  if (!saved_.paused()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the rollout of model ", model_, " is not paused"));
  }
  saved_.set_paused(false);
  Tell(now, "resumed", saved_.candidate_version(), "resumed by hand", /*by_hand=*/true);
  if (step_began_) BeginStep(now, saved_.step(), "resumed by hand; the step begins anew");
  return absl::OkStatus();
}

std::set<int64_t> Rollout::Wanted() const {
  const int64_t stable = saved_.stable_version();
  if (on_disk_.empty() || stable == 0) return {};
  std::set<int64_t> wanted = {stable};
  // The others wait for the stable version, but nothing is unloaded because that one has failed.
  const bool may_load = available_.contains(stable) || failed_.contains(stable);
  auto add = [&](int64_t version) {
    if (version != 0 && (may_load || in_memory_.contains(version))) wanted.insert(version);
  };
  add(saved_.previous_version());
  if (making_room_ == 0 && !load_again_at_) add(saved_.candidate_version());
  return wanted;
}

Rollout::Route Rollout::route() const {
  Route route{.stable = saved_.stable_version()};
  if (!step_began_) return route;
  route.candidate = saved_.candidate_version();
  route.share_percent = step().share_percent();
  return route;
}

RolloutPhase Rollout::phase() const {
  if (saved_.candidate_version() == 0) return ROLLOUT_IDLE;
  if (!step_began_) return ROLLOUT_LOADING;
  if (saved_.paused()) return ROLLOUT_PAUSED;
  return is_held_ ? ROLLOUT_HELD : ROLLOUT_STEP;
}

RolloutStatus Rollout::Status(absl::Time now) const {
  RolloutStatus status;
  status.set_model(model_);
  status.set_phase(phase());
  status.set_stable_version(saved_.stable_version());
  status.set_candidate_version(saved_.candidate_version());
  status.set_previous_version(saved_.previous_version());
  for (const auto& rejected : saved_.rejected()) {
    status.add_rejected_versions(rejected.version());
  }
  status.set_share_percent(route().share_percent);
  if (step_began_) {
    status.set_step(saved_.step());
    status.set_step_seconds(absl::ToDoubleSeconds(now - *step_began_));
    *status.mutable_live() = evidence_.live;
    *status.mutable_candidate() = evidence_.candidate;
  }
  status.set_reason(reason_);
  *status.mutable_config() = config_;
  return status;
}

void Rollout::Tell(absl::Time now, absl::string_view kind, int64_t version,
                   const std::string& reason, bool by_hand) {
  reason_ = ToValidUtf8(reason);
  RolloutEvent event;
  event.set_model(model_);
  event.set_kind(std::string(kind));
  event.set_version(version);
  event.set_stable_version(saved_.stable_version());
  event.set_share_percent(saved_.stable_version() == version ? 100 : route().share_percent);
  event.set_reason(reason_);
  event.set_unix_seconds(absl::ToDoubleSeconds(now - absl::UnixEpoch()));
  event.set_by_hand(by_hand);
  *event.mutable_live() = evidence_.live;
  *event.mutable_candidate() = evidence_.candidate;
  events_.push_back(std::move(event));
}

std::vector<RolloutEvent> Rollout::TakeEvents() { return std::exchange(events_, {}); }

}  // namespace tessera::serving
