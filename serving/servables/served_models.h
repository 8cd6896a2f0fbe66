// ServedModels: the models of one server by name, version or label.
//
//   ServedModels models(options);
//   RETURN_IF_ERROR(models.ApplyConfig(config));       // returns when the models are up
//   ASSIGN_OR_RETURN(auto model, models.Acquire({.name = "resnet", .label = "stable"}));
//   model->Predict(...);
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/core/manager.h"
#include "serving/core/metrics.h"
#include "serving/core/rcu.h"
#include "serving/core/servable_state_monitor.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/servable.h"
#include "serving/servables/traffic_router.h"
#include "serving/servables/version_metrics.h"
#include "serving/sources/file_system_source.h"
#include "serving/sources/version_gate.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {

// Watches the base paths of a ModelServerConfig, loads the versions found there, and gives out
// handles to them. A configuration that is applied replaces the one before as a whole: models that
// it leaves out are unloaded, and labels that it leaves out are removed. All checks come before the
// first change, so that a refused configuration changes nothing.
//
// Thread-safe. Acquire() takes no lock.
class ServedModels {
 public:
  using LoaderFactory = LoaderAdapter<std::string>::Make;

  struct Options {
    AspiredVersionsManager::Options manager;
    FileSystemSource::Options source;
    // Allows labels of versions that are not available. A label that exists may still move to an
    // available version only.
    bool allow_labels_for_unavailable_models = false;
    // The platforms that the server has, by name. The factory of a platform makes the loader of a
    // version from its directory. The loader's servable must be a `const Servable`.
    std::map<std::string, LoaderFactory> platforms;
    // The metrics in which versions are counted. May be null. Must outlive this object.
    MetricsRegistry* metrics = nullptr;
    // Called with each configuration that is applied, before its new models load, while no other is
    // applied. May be null.
    std::function<void(const tensorflow::serving::ModelServerConfig&)> on_config;
    // Holds versions back, and chooses the version of a request. Null: the versions that the
    // configuration names are loaded, and the highest one answers. Both must outlive this object.
    VersionGate* gate = nullptr;
    TrafficRouter* router = nullptr;
  };

  explicit ServedModels(Options options);
  // Unloads everything. Waits for all handles.
  ~ServedModels();

  // Checks and applies a configuration. Then waits until each model that was not configured before
  // has its first outcome, that is, until its highest version that has one is available or has
  // failed. Calls wait for each other: a call that gives up before its turn has applied nothing. A
  // call that gives up waiting for models leaves the configuration applied. `before_change` is
  // called once all is checked but the policies of models whose versions the gate chooses, and
  // before anything changes, while no other configuration is applied: for settings that belong to
  // this configuration, those of the gate among them.
  // Errors: INVALID_ARGUMENT for a model listed twice, a relative base path, an unsupported
  // platform, an unfit logging_config, or a version policy for a model whose versions the gate
  // chooses; FAILED_PRECONDITION for a label to a version that is not available or for a custom
  // configuration; UNKNOWN "N servable(s) did not become available: ..." if new models of the first
  // configuration failed, "N model(s) ..." if those of a later one did, the others being served;
  // DEADLINE_EXCEEDED or CANCELLED if the options end either wait; CANCELLED after Stop().
  absl::Status ApplyConfig(
      const tensorflow::serving::ModelServerConfig& config, const CallOptions& options = {},
      absl::FunctionRef<void()> before_change = [] {}) ABSL_LOCKS_EXCLUDED(apply_mu_);

  // Stops serving all versions of a configured model, and returns when none answers requests any
  // more. It stays configured, and unloaded whatever versions arrive, until LoadModel() or until a
  // configuration leaves it out. Errors: NOT_FOUND if the model is not configured;
  // DEADLINE_EXCEEDED or CANCELLED as for ApplyConfig().
  absl::Status UnloadModel(absl::string_view name, const CallOptions& options = {})
      ABSL_LOCKS_EXCLUDED(apply_mu_);
  // Serves a configured model again, and looks for its versions at once. Then waits for it as
  // ApplyConfig() does for a new one. A model that is served already stays as it is. Errors: those
  // of UnloadModel(); UNKNOWN if the model did not become available, or if there is no version of
  // it, which is loaded once it is there.
  absl::Status LoadModel(absl::string_view name, const CallOptions& options = {})
      ABSL_LOCKS_EXCLUDED(apply_mu_);

  // Returns the version that the spec names. If it names none, returns the version that the router
  // draws for a request with these keys. Errors: see RequestHandler::FindModel().
  absl::StatusOr<ModelHandle> Acquire(const ModelSpec& spec, RoutingKeys keys) const;
  // Returns the version that the spec names. If it names none, returns the router's stable one. For
  // what is no part of the traffic.
  absl::StatusOr<ModelHandle> Acquire(const ModelSpec& spec) const;

  // Returns handles to the available versions of a model, in ascending order; to those of all
  // models if the name is empty.
  std::vector<ModelHandle> AcquireAll(absl::string_view name = "") const;

  // Null if there is none.
  TrafficRouter* router() const { return options_.router; }

  // Returns the states of all versions that this process has seen.
  const ServableStateMonitor& states() const { return monitor_; }
  // Tells `callback` of every later change of a version's state; see ServableEventBus.
  std::unique_ptr<ServableEventBus::Subscription> Subscribe(ServableEventBus::Callback callback) {
    return bus_.Subscribe(std::move(callback));
  }
  // Returns the memory that versions are estimated to take, from before they are loaded until they
  // have been unloaded.
  std::map<ServableId, MemoryEstimate> MemoryInUse() const { return manager_.MemoryInUse(); }
  // Returns the configuration that was applied last; an empty one before the first.
  tensorflow::serving::ModelServerConfig config() const;

  // Returns true if a configuration was applied, each of its models has an available version, and
  // Stop() was not called.
  bool IsReady() const;

  // Tells that requests come from now on. Loads yield to them.
  void StartYielding() { manager_.StartYielding(); }

  // Makes waiting and later calls of ApplyConfig() return CANCELLED, ends the search for new
  // versions, and makes IsReady() false. Returns at once. For shutdown.
  void Stop();

 private:
  // The version of each label of each model.
  using Labels = absl::flat_hash_map<std::string, absl::flat_hash_map<std::string, int64_t>>;

  // Makes the loader of a version by the platform of its model.
  absl::StatusOr<std::unique_ptr<Loader>> MakeLoader(const ServableId& id,
                                                     const std::string& directory) const;
  // Sets whether a configured model is held unloaded, and tells the source. Must be called by who
  // applies a configuration.
  absl::Status HoldUnloaded(absl::string_view name, bool unloaded);
  // Returns what the source is to watch: the configured models but those held unloaded. Errors:
  // those of ApplyConfig() for version policies.
  absl::StatusOr<std::vector<MonitoredServable>> ServablesOf(
      const tensorflow::serving::ModelServerConfig& config) const;
  // Waits until no other call applies a configuration, and marks that this one does. Errors: those
  // of the waits of ApplyConfig().
  absl::Status AwaitTurn(const CallOptions& options) ABSL_LOCKS_EXCLUDED(apply_mu_);
  // Awaits the turn, runs `apply`, and lets the next one have its turn. Meanwhile a cancellation of
  // the options wakes whoever waits for models.
  absl::Status InTurn(const CallOptions& options, absl::FunctionRef<absl::Status()> apply)
      ABSL_LOCKS_EXCLUDED(apply_mu_);
  absl::Status ApplyConfigInTurn(const tensorflow::serving::ModelServerConfig& config,
                                 const CallOptions& options,
                                 absl::FunctionRef<void()> before_change);
  // Makes all waiting calls evaluate their conditions again.
  void Wake() ABSL_LOCKS_EXCLUDED(apply_mu_);
  absl::Status CheckLabels(const tensorflow::serving::ModelServerConfig& config) const;
  // `noun` is what the error calls a model.
  absl::Status AwaitModels(const std::set<std::string>& names, uint64_t after_event,
                           absl::string_view noun, const CallOptions& options);
  // Logs why a model has no version yet.
  void LogWait(const std::string& name) const;
  // Shows metrics of the versions as they are when a page is rendered.
  void CollectMetrics(MetricsRegistry* registry);
  // Returns the number of available versions of each configured model.
  std::map<std::string, int64_t> NumAvailable() const;
  // Describes the versions of a model, for the message that a version is not available.
  std::string WhatThereIs(absl::string_view model) const;
  absl::StatusOr<int64_t> VersionOfLabel(absl::string_view model, absl::string_view label) const;
  absl::StatusOr<int64_t> ConfiguredLabel(absl::string_view model, absl::string_view label) const;
  // Whether the router chooses the version for a spec.
  bool IsRouted(const ModelSpec& spec) const {
    return options_.router != nullptr && !spec.version && !spec.label;
  }
  // Returns a handle to a version that the router chose, or nothing if there is none or it has
  // gone.
  ModelHandle AcquireRouted(absl::string_view model, std::optional<int64_t> version) const;

  const Options options_;
  ServableEventBus bus_;
  ServableStateMonitor monitor_;
  const std::unique_ptr<VersionMetrics> metrics_;  // may be null
  // Null before the first configuration. Written by the call that applies one.
  RcuPointer<Labels> labels_;
  absl::Mutex apply_mu_;
  bool applying_ ABSL_GUARDED_BY(apply_mu_) = false;
  std::atomic<bool> stopped_{false};
  mutable absl::Mutex config_mu_;
  // The configuration that was applied last; nullopt before the first.
  std::optional<tensorflow::serving::ModelServerConfig> config_ ABSL_GUARDED_BY(config_mu_);
  std::set<std::string, std::less<>> unloaded_ ABSL_GUARDED_BY(config_mu_);  // see UnloadModel()
  // The platforms of configured models by name. While a configuration is applied, also those of the
  // models that it leaves out, until the source has dropped them.
  std::map<std::string, std::string> platform_of_ ABSL_GUARDED_BY(config_mu_);
  AspiredVersionsManager manager_;
  LoaderAdapter<std::string> adapter_;
  FileSystemSource source_;
  const std::unique_ptr<ServableEventBus::Subscription> gate_subscription_;  // may be null
  std::vector<std::unique_ptr<MetricsRegistry::Collection>> collections_;    // end first
};

}  // namespace tessera::serving
