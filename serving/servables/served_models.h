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

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
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
#include "serving/servables/version_metrics.h"
#include "serving/sources/file_system_source.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {

// Watches the base paths of a ModelServerConfig, loads what is found there, and answers who serves.
// Applying a configuration replaces the one before as a whole: models it leaves out are unloaded,
// labels it leaves out are gone. All checks come before the first change, so that a refused
// configuration changes nothing.
//
// Thread-safe. Acquire() takes no lock.
class ServedModels {
 public:
  using LoaderFactory = LoaderAdapter<std::string>::Make;

  struct Options {
    AspiredVersionsManager::Options manager;
    FileSystemSource::Options source;
    // Allows labels that point to versions which are not available. A label that is there already
    // may still move to an available version only.
    bool allow_labels_for_unavailable_models = false;
    // By platform, what makes the loader of a version from its directory. Each loader's servable
    // must be a `const Servable`.
    std::map<std::string, LoaderFactory> platforms;
    // Counts versions. May be null; must outlive this.
    MetricsRegistry* metrics = nullptr;
  };

  explicit ServedModels(Options options);
  // Unloads everything; waits for handles.
  ~ServedModels();

  // Checks and applies, then waits until each model that was not configured before has its first
  // outcome: its highest version with one is available or has failed. Calls queue: who gives up
  // in the queue has applied nothing. Giving up waiting for models leaves the configuration
  // applied.
  // Errors: INVALID_ARGUMENT for a model listed twice, a relative base path, an unsupported
  // platform or request logging; FAILED_PRECONDITION for a label to a version that is not available
  // or for a custom configuration; UNKNOWN "N servable(s) did not become available: ..." if new
  // models failed, the others being served; DEADLINE_EXCEEDED or CANCELLED if the options end
  // either wait; CANCELLED after Stop().
  absl::Status ApplyConfig(const tensorflow::serving::ModelServerConfig& config,
                           const CallOptions& options = {}) ABSL_LOCKS_EXCLUDED(apply_mu_);

  // The version the spec names. Errors: see RequestHandler::FindModel().
  absl::StatusOr<ModelHandle> Acquire(const ModelSpec& spec) const;

  // States of all versions this process has seen.
  const ServableStateMonitor& states() const { return monitor_; }

  // True if a configuration was applied, each of its models has an available version, and Stop()
  // was not called.
  bool IsReady() const;

  // Says that requests come from now on: loads make way for them.
  void StartYielding() { manager_.StartYielding(); }

  // Makes waiting and later calls of ApplyConfig() return CANCELLED, ends looking for versions, and
  // makes IsReady() false. Returns at once. For shutdown.
  void Stop();

 private:
  // Versions by label, by model.
  using Labels = absl::flat_hash_map<std::string, absl::flat_hash_map<std::string, int64_t>>;

  // By the platform of the model.
  absl::StatusOr<std::unique_ptr<Loader>> MakeLoader(const ServableId& id,
                                                     const std::string& directory) const;
  // Until no other call applies; then this one does. Errors: those of ApplyConfig()'s waits.
  absl::Status AwaitTurn(const CallOptions& options) ABSL_LOCKS_EXCLUDED(apply_mu_);
  // Makes all that wait look again at what they wait for.
  void Wake() ABSL_LOCKS_EXCLUDED(apply_mu_);
  absl::Status CheckLabels(const tensorflow::serving::ModelServerConfig& config) const;
  absl::Status AwaitModels(const std::set<std::string>& names, uint64_t after_event,
                           const CallOptions& options);
  // For messages, of a model whose asked version is not there.
  std::string WhatThereIs(absl::string_view model) const;
  absl::StatusOr<int64_t> VersionOfLabel(absl::string_view model, absl::string_view label) const;

  const Options options_;
  ServableEventBus bus_;
  ServableStateMonitor monitor_;
  const std::unique_ptr<VersionMetrics> metrics_;  // may be null
  // Null before the first configuration; written by whoever applies one.
  RcuPointer<Labels> labels_;
  absl::Mutex apply_mu_;
  bool applying_ ABSL_GUARDED_BY(apply_mu_) = false;
  std::atomic<bool> stopped_{false};
  mutable absl::Mutex config_mu_;
  // As applied last; nullopt before.
  std::optional<tensorflow::serving::ModelServerConfig> config_ ABSL_GUARDED_BY(config_mu_);
  // Of models that are configured, and for a moment of those left out, which the source has yet to
  // let go of.
  std::map<std::string, std::string> platform_of_ ABSL_GUARDED_BY(config_mu_);
  AspiredVersionsManager manager_;
  LoaderAdapter<std::string> adapter_;
  FileSystemSource source_;
  const std::unique_ptr<MetricsRegistry::Collection> memory_metric_;  // may be null
};

}  // namespace tessera::serving
