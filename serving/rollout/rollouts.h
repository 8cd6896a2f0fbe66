// Rollouts: runs the rollouts of a server.
//
//   Rollouts rollouts({.configs = configs, .state_file = path, .metrics = &metrics});
//   ServedModels models({..., .gate = &rollouts, .router = rollouts.router()});
//   rollouts.Promote("resnet", 0);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/core/metrics.h"
#include "serving/rollout/rollout.h"
#include "serving/rollout/rollout_admin.h"
#include "serving/rollout/rollout_config.h"
#include "serving/rollout/rollout_events.h"
#include "serving/rollout/rollout_gauges.h"
#include "serving/rollout/rollout_routes.h"
#include "serving/rollout/version_measures.h"
#include "serving/sources/version_gate.h"

namespace tessera::serving {

// Has a Rollout for each model with a block `rollout`, a thread that advances them, and the file
// that keeps them. Tells the manager the versions that they want, and the router their routes.
//
// A state file that is damaged is set aside, and all rollouts then start cautiously, see
// Rollout::Start. If it cannot be written, that is logged, and tried again.
//
// Thread-safe.
class Rollouts : public VersionGate, public RolloutAdmin {
 public:
  struct Options {
    // They have passed CheckRolloutConfig(). Without any, all models have no rollout.
    RolloutConfigs configs;
    // The file in which rollouts are kept over a restart. Empty: they are not kept.
    std::string state_file;
    // How often candidates are judged.
    absl::Duration judge_interval = absl::Milliseconds(100);
    MetricsRegistry* metrics = nullptr;  // must be given and outlive this object
  };

  explicit Rollouts(Options options);
  // Disconnects, and writes the state.
  ~Rollouts() override;

  TrafficRouter* router() { return &routes_; }
  // See RolloutRoutes::SetMirror().
  void SetMirror(Mirror* mirror) { routes_.SetMirror(mirror); }

  // Replaces the configurations. Rollouts that are under way go on. To be called before the models
  // that go with them are applied: the rollout of a model that had none begins when the source then
  // tells all of the model's versions.
  void SetConfigs(const RolloutConfigs& configs) ABSL_LOCKS_EXCLUDED(mu_);

  // VersionGate:
  void ConnectTo(Target<std::string>* target) override ABSL_LOCKS_EXCLUDED(mu_);
  void SetAspiredVersions(absl::string_view name, AspiredVersions<std::string> versions) override
      ABSL_LOCKS_EXCLUDED(mu_);
  bool Chooses(absl::string_view model) const override ABSL_LOCKS_EXCLUDED(mu_);
  void NoteState(const ServableState& state) override;
  void Disconnect() override ABSL_LOCKS_EXCLUDED(mu_);

  // RolloutAdmin:
  std::vector<RolloutStatus> Statuses() const override ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<RolloutStatus> StatusOf(absl::string_view model) const override
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<RolloutStatus> Promote(absl::string_view model, int64_t version) override {
    return Act(model, version, &Rollout::Promote);
  }
  absl::StatusOr<RolloutStatus> Rollback(absl::string_view model, int64_t version) override {
    return Act(model, version, &Rollout::Rollback);
  }
  absl::StatusOr<RolloutStatus> Pause(absl::string_view model, int64_t version) override {
    return Act(model, version, &Rollout::Pause);
  }
  absl::StatusOr<RolloutStatus> Resume(absl::string_view model, int64_t version) override {
    return Act(model, version, &Rollout::Resume);
  }
  std::vector<RolloutEvent> RecentEvents() const override { return events_.Recent(); }
  [[nodiscard]] std::shared_ptr<void> WatchEvents(Watch watch) override {
    return events_.Watch(std::move(watch));
  }

 private:
  // The versions that were told of a model, with a rollout or without one.
  struct Told {
    std::map<int64_t, ServableData<std::string>> versions;  // by the source, the last time
    // The latest states of versions in memory, and of those that failed and that the source still
    // tells.
    std::map<int64_t, ServableState> states;
  };
  struct Model {
    Model(std::string name, RolloutConfig config, RolloutState::Model saved, Rollout::Start start)
        : rollout(std::move(name), std::move(config), std::move(saved), start) {}

    Rollout rollout;
    // The versions that the source told, and those that have gone from disk and are still wanted.
    std::map<int64_t, ServableData<std::string>> data;
    // Whether the source has told the versions since the model was added. Until then the manager
    // keeps what it has.
    bool is_told = false;
    // The versions and revisions that were passed on last; nullopt before the first.
    std::optional<std::map<int64_t, uint64_t>> passed;
    RolloutRoutes::Route route;
    uint64_t measured_step = 0;  // the value of steps_begun() that the measures are of
    VersionMeasures last_live;   // from when the stable version had traffic
    bool needed_time = false;    // the value of NeedsTime() when Apply() was called last
  };
  using Models = std::map<std::string, Model, std::less<>>;

  absl::StatusOr<RolloutStatus> Act(absl::string_view model, int64_t version,
                                    absl::Status (Rollout::*action)(absl::Time, int64_t))
      ABSL_LOCKS_EXCLUDED(mu_);

  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  void Wake() ABSL_LOCKS_EXCLUDED(inbox_mu_);
  // Adds a model with what the process before has saved of its rollout.
  void AddModel(const std::string& name, const RolloutConfig& config)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Hands the states that the manager has told to the rollouts.
  void TakeInbox() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) ABSL_LOCKS_EXCLUDED(inbox_mu_);
  void SetVersions(Model& model, const std::map<int64_t, ServableData<std::string>>& versions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Rollout::Evidence Measure(Model& model, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Carries out what a rollout has decided.
  void Apply(const std::string& name, Model& model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns true if the route has changed.
  bool UpdateRoute(Model& model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PublishRoutes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PassOn(const std::string& name, Model& model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Writes the state if it has changed. Called by one thread at a time, without the lock, because a
  // disk may take long.
  void WriteState() ABSL_LOCKS_EXCLUDED(mu_);

  const Options options_;
  RolloutGauges gauges_;
  RolloutEvents events_;
  RolloutRoutes routes_;

  // The manager tells states while it holds its lock, which calls of the target need; so they wait
  // here for the thread.
  absl::Mutex inbox_mu_;
  std::vector<ServableState> inbox_ ABSL_GUARDED_BY(inbox_mu_);
  bool is_woken_ ABSL_GUARDED_BY(inbox_mu_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(inbox_mu_) = false;

  mutable absl::Mutex mu_ ABSL_ACQUIRED_BEFORE(inbox_mu_);
  Target<std::string>* target_ ABSL_GUARDED_BY(mu_) = nullptr;
  Rollout::Start start_ ABSL_GUARDED_BY(mu_) = Rollout::Start::kFromSaved;
  Models models_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Told, std::less<>> told_ ABSL_GUARDED_BY(mu_);
  // The contents of the state file for all models, configured or not. Read for the first rollout.
  std::optional<RolloutState> state_ ABSL_GUARDED_BY(mu_);
  bool state_changed_ ABSL_GUARDED_BY(mu_) = false;

  absl::Time next_write_ = absl::InfinitePast();  // the thread's: not before, after a failure
  std::thread thread_;
};

}  // namespace tessera::serving
