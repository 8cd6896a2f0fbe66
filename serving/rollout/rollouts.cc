#include "serving/rollout/rollouts.h"

#include <pthread.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/protobuf/util/message_differencer.h"
#include "runtime/base/logging.h"
#include "serving/rollout/rollout_state_file.h"

namespace tessera::serving {
namespace {

// The pause before a state that could not be written is tried again.
constexpr absl::Duration kWriteRetryInterval = absl::Seconds(10);

// Reads the state of the process before. A file that is damaged is set aside.
RolloutState ReadStateOrStartAnew(const std::string& path, Rollout::Start* start) {
  if (path.empty()) return {};
  absl::StatusOr<RolloutState> state = ReadRolloutState(path);
  if (state.ok()) return *std::move(state);
  if (absl::IsNotFound(state.status())) return {};
  *start = Rollout::Start::kCautious;
  const absl::StatusOr<std::string> aside = SetAsideRolloutState(path);
  LOG(ERROR) << "the state of the rollouts in " << path << " is lost: " << state.status().ToString()
             << ". The file is "
             << (aside.ok() ? absl::StrCat("kept as ", *aside)
                            : absl::StrCat("left as it is: ", aside.status().ToString()))
             << ". Of each model with a rollout, the second highest version counts as stable, and "
                "the highest one is tried again";
  return {};
}

}  // namespace

Rollouts::Rollouts(Options options)
    : options_(std::move(options)), gauges_(options_.metrics), events_(options_.metrics) {
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [name, config] : options_.configs) AddModel(name, config);
  }
  thread_ = std::thread([this] { Run(); });
}

Rollouts::~Rollouts() { Disconnect(); }

void Rollouts::Disconnect() {
  {
    absl::MutexLock lock(&mu_);
    target_ = nullptr;
  }
  {
    absl::MutexLock lock(&inbox_mu_);
    is_stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Rollouts::ConnectTo(Target<std::string>* target) {
  absl::MutexLock lock(&mu_);
  target_ = target;
}

void Rollouts::AddModel(const std::string& name, const RolloutConfig& config) {
  if (!state_) state_ = ReadStateOrStartAnew(options_.state_file, &start_);
  const auto saved = state_->models().find(name);
  models_.try_emplace(name, name, WithDefaults(config),
                      saved == state_->models().end() ? RolloutState::Model() : saved->second,
                      start_);
  events_.ShowCounters(name);
}

void Rollouts::SetConfigs(const RolloutConfigs& configs) {
  absl::MutexLock lock(&mu_);
  if (target_ == nullptr) return;
  TakeInbox();
  for (auto it = models_.begin(); it != models_.end();) {
    if (configs.contains(it->first)) {
      ++it;
      continue;
    }
    gauges_.Remove(it->first);
    it = models_.erase(it);
  }
  for (const auto& [name, config] : configs) {
    if (auto it = models_.find(name); it != models_.end()) {
      it->second.rollout.SetConfig(WithDefaults(config));
      Apply(name, it->second);
      continue;
    }
    AddModel(name, config);
    Rollout& rollout = models_.find(name)->second.rollout;
    for (const auto& [version, state] : told_[name].states) rollout.NoteState(absl::Now(), state);
  }
  PublishRoutes();
}

bool Rollouts::Chooses(absl::string_view model) const {
  absl::MutexLock lock(&mu_);
  return models_.find(model) != models_.end();
}

void Rollouts::SetAspiredVersions(absl::string_view name, AspiredVersions<std::string> versions) {
  absl::MutexLock lock(&mu_);
  if (target_ == nullptr) return;
  Told& told = told_[std::string(name)];
  told.versions.clear();
  for (const auto& version : versions) told.versions.emplace(version.id.version, version);
  std::erase_if(told.states, [&](const auto& state) {
    return state.second.state == State::kEnd && !told.versions.contains(state.first);
  });
  const auto model = models_.find(name);
  if (model == models_.end()) return target_->SetAspiredVersions(name, std::move(versions));
  TakeInbox();
  SetVersions(model->second, told.versions);
  Apply(model->first, model->second);
}

void Rollouts::SetVersions(Model& model,
                           const std::map<int64_t, ServableData<std::string>>& versions) {
  model.is_told = true;
  std::map<int64_t, uint64_t> revisions;
  for (const auto& [number, version] : versions) {
    if (number <= 0) {
      LOG(WARNING) << "version " << number << " of model '" << version.id.name
                   << "' is ignored: a rollout takes versions from 1 on";
      continue;
    }
    revisions[number] = version.revision;
    model.data.insert_or_assign(number, version);
  }
  model.rollout.SetVersions(absl::Now(), std::move(revisions));
}

void Rollouts::NoteState(const ServableState& state) {
  absl::MutexLock lock(&inbox_mu_);
  inbox_.push_back(state);
  is_woken_ = true;
}

void Rollouts::Wake() {
  absl::MutexLock lock(&inbox_mu_);
  is_woken_ = true;
}

void Rollouts::TakeInbox() {
  std::vector<ServableState> states;
  {
    absl::MutexLock lock(&inbox_mu_);
    states.swap(inbox_);
  }
  for (const ServableState& state : states) {
    auto& known = told_[state.id.name].states;
    if (state.state == State::kEnd && state.health.ok()) {
      known.erase(state.id.version);
    } else {
      known.insert_or_assign(state.id.version, state);
    }
    const auto model = models_.find(state.id.name);
    if (model == models_.end()) continue;
    model->second.rollout.NoteState(absl::Now(), state);
    Apply(model->first, model->second);
  }
}

void Rollouts::Run() {
  pthread_setname_np(pthread_self(), "rollouts");
  bool is_stopping = false;
  bool is_busy = false;  // something must be looked at without being woken
  while (!is_stopping) {
    {
      absl::MutexLock lock(&inbox_mu_);
      auto is_due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(inbox_mu_) {
        return is_woken_ || is_stopping_;
      };
      inbox_mu_.AwaitWithTimeout(absl::Condition(&is_due),
                                 is_busy ? options_.judge_interval : absl::InfiniteDuration());
      is_woken_ = false;
      is_stopping = is_stopping_;
    }
    is_busy = false;
    {
      absl::MutexLock lock(&mu_);
      if (target_ != nullptr) TakeInbox();
      for (auto& [name, model] : models_) {
        if (target_ == nullptr || !model.rollout.NeedsTime()) continue;
        const absl::Time now = absl::Now();
        model.rollout.LoadAgain(now);
        if (model.rollout.IsTrying()) model.rollout.Advance(now, Measure(model, now));
        Apply(name, model);
        is_busy |= model.rollout.NeedsTime();
      }
      is_busy |= state_changed_;
    }
    if (is_stopping) next_write_ = absl::InfinitePast();
    WriteState();
  }
}

Rollout::Evidence Rollouts::Measure(Model& model, absl::Time now) {
  Rollout::Evidence evidence;
  evidence.candidate = model.route.tried->Measures(now);
  evidence.live = model.route.live->Measures(now);
  // When the candidate has all traffic, it is judged by what the stable version did before.
  const bool has_all = model.route.share >= 1;
  if (has_all) {
    evidence.live = model.last_live;
  } else {
    model.last_live = evidence.live;
  }
  evidence.verdict = Judge(model.rollout.config().conditions(), model.route.stable, evidence.live,
                           evidence.candidate, /*are_mirrored=*/!has_all);
  return evidence;
}

void Rollouts::Apply(const std::string& name, Model& model) {
  for (const RolloutEvent& event : model.rollout.TakeEvents()) events_.Add(event);
  if (UpdateRoute(model)) PublishRoutes();
  PassOn(name, model);
  gauges_.Show(model.rollout.Status(absl::Now()));
  const bool needs_time = model.rollout.NeedsTime();
  if (!std::exchange(model.needed_time, needs_time) && needs_time) Wake();
  const RolloutState::Model& saved = model.rollout.saved();
  RolloutState::Model& kept = (*state_->mutable_models())[name];
  if (google::protobuf::util::MessageDifferencer::Equals(saved, kept)) return;
  kept = saved;
  state_changed_ = true;
  Wake();
}

bool Rollouts::UpdateRoute(Model& model) {
  const Rollout& rollout = model.rollout;
  const Rollout::Route chosen = rollout.route();
  RolloutRoutes::Route route{.stable = chosen.stable,
                             .candidate = chosen.candidate,
                             .share = chosen.share_percent / 100,
                             .sticky_key = rollout.config().sticky_key(),
                             .mirror_percent = rollout.config().mirror_percent(),
                             .retries_on_stable = rollout.config().retry_on_stable()};
  if (rollout.IsTrying()) {
    route.live = model.route.live;
    route.tried = model.route.tried;
    const bool is_other = route.live == nullptr || route.stable != model.route.stable ||
                          route.candidate != model.route.candidate;
    if (is_other) model.last_live = {};
    const RolloutConditions& conditions = rollout.config().conditions();
    const absl::Duration window = absl::Seconds(conditions.window_seconds());
    if (is_other || window != route.live->window() || conditions.output() != route.live->output()) {
      route.live = std::make_shared<VersionMeasurer>(window, conditions.output());
      route.tried = std::make_shared<VersionMeasurer>(window, conditions.output());
      model.measured_step = rollout.steps_begun();
    }
    if (std::exchange(model.measured_step, rollout.steps_begun()) != rollout.steps_begun()) {
      route.tried->Reset();
    }
  }
  if (route == model.route) return false;
  model.route = std::move(route);
  return true;
}

void Rollouts::PublishRoutes() {
  RolloutRoutes::Table table;
  for (const auto& [name, model] : models_) table[name] = model.route;
  routes_.Publish(std::move(table));
}

void Rollouts::PassOn(const std::string& name, Model& model) {
  if (!model.is_told) return;
  const std::set<int64_t> wanted = model.rollout.Wanted();
  AspiredVersions<std::string> versions;
  std::map<int64_t, uint64_t> passed;
  // The highest version comes first, as the source tells them.
  for (auto version = wanted.rbegin(); version != wanted.rend(); ++version) {
    const auto data = model.data.find(*version);
    if (data == model.data.end()) continue;  // saved by an earlier process, and gone from disk
    versions.push_back(data->second);
    passed[*version] = data->second.revision;
  }
  if (model.passed == passed) return;
  model.passed = std::move(passed);
  const auto& on_disk = told_[name].versions;
  for (auto it = model.data.begin(); it != model.data.end();) {
    const bool is_needed = on_disk.contains(it->first) || wanted.contains(it->first);
    it = is_needed ? std::next(it) : model.data.erase(it);
  }
  target_->SetAspiredVersions(name, std::move(versions));
}

void Rollouts::WriteState() {
  if (absl::Now() < next_write_) return;
  RolloutState state;
  {
    absl::MutexLock lock(&mu_);
    if (!std::exchange(state_changed_, false) || options_.state_file.empty()) return;
    state = *state_;
  }
  const absl::Status status = WriteRolloutState(options_.state_file, state);
  const bool failed_before = next_write_ != absl::InfinitePast();
  next_write_ = absl::InfinitePast();
  if (status.ok()) {
    if (failed_before) LOG(INFO) << "the state of the rollouts can be written again";
    return;
  }
  if (!failed_before) {
    LOG(ERROR) << "the state of the rollouts was not written, so that a restart would not know of "
                  "the latest decisions: "
               << status.ToString() << "; trying again every "
               << absl::FormatDuration(kWriteRetryInterval)
               << ". Free space on the disk, or name another file by --rollout_state_file";
  }
  next_write_ = absl::Now() + kWriteRetryInterval;
  absl::MutexLock lock(&mu_);
  state_changed_ = true;
}

std::vector<RolloutStatus> Rollouts::Statuses() const {
  absl::MutexLock lock(&mu_);
  std::vector<RolloutStatus> statuses;
  for (const auto& [name, model] : models_) {
    statuses.push_back(model.rollout.Status(absl::Now()));
  }
  return statuses;
}

absl::StatusOr<RolloutStatus> Rollouts::StatusOf(absl::string_view model) const {
  absl::MutexLock lock(&mu_);
  const auto it = models_.find(model);
  if (it != models_.end()) return it->second.rollout.Status(absl::Now());
  return absl::NotFoundError(
      absl::StrCat("model '", model, "' has no rollout configured: add a block `rollout` to it"));
}

absl::StatusOr<RolloutStatus> Rollouts::Act(absl::string_view model, int64_t version,
                                            absl::Status (Rollout::*action)(absl::Time, int64_t)) {
  {
    absl::MutexLock lock(&mu_);
    if (target_ == nullptr) return absl::UnavailableError("the server is not serving");
    const auto it = models_.find(model);
    if (it != models_.end()) {
      TakeInbox();
      const absl::Status status = (it->second.rollout.*action)(absl::Now(), version);
      Apply(it->first, it->second);
      if (!status.ok()) return status;
    }
  }
  return StatusOf(model);
}

}  // namespace tessera::serving
