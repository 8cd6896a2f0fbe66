#include "serving/servables/served_models.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "serving/servables/request_metrics.h"
#include "serving/sources/model_config.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::ModelConfig;
using tensorflow::serving::ModelServerConfig;

// The interval at which a wait without limit logs what it waits for.
constexpr absl::Duration kWaitLogInterval = absl::Seconds(30);

// The interval at which a wait looks again for what no event tells: whether versions are still on
// their way.
constexpr absl::Duration kLookInterval = absl::Milliseconds(500);

AspiredVersionsManager::Options WithBus(AspiredVersionsManager::Options options,
                                        ServableEventBus* bus) {
  options.bus = bus;
  return options;
}

std::set<std::string> ModelNames(const ModelServerConfig& config) {
  std::set<std::string> names;
  for (const ModelConfig& model : config.model_config_list().config()) names.insert(model.name());
  return names;
}

template <typename Value>
std::set<std::string> Keys(const std::map<std::string, Value>& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map) keys.insert(key);
  return keys;
}

// Makes the source tell a gate all versions of the models whose versions it chooses.
absl::Status LetGateChoose(const ModelServerConfig& config, const VersionGate* gate,
                           std::vector<MonitoredServable>* servables) {
  if (gate == nullptr) return absl::OkStatus();
  for (const ModelConfig& model : config.model_config_list().config()) {
    if (!gate->Chooses(model.name())) continue;
    const auto& policy = model.model_version_policy();
    if (policy.has_all() || policy.has_specific() || policy.latest().num_versions() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("model ", model.name(),
                       " has a rollout, which chooses the versions to load; remove its "
                       "model_version_policy or its rollout"));
    }
  }
  for (MonitoredServable& servable : *servables) {
    if (!gate->Chooses(servable.name)) continue;
    servable.versions.kind = VersionChoice::Kind::kAll;
    servable.has_gate = true;
  }
  return absl::OkStatus();
}

bool IsCancelled(const CallOptions& options) {
  return options.cancellation != nullptr && options.cancellation->IsCancelled();
}

absl::Status ShuttingDown() { return absl::CancelledError("the server is shutting down"); }

// Returns the first outcome of a model: its highest version that became available or failed after
// an event. Failures before the event belong to an earlier configuration of the model. A failure is
// no outcome while a version as high or higher is being loaded or, as `settling` says, on its way.
const ServableState* FirstOutcome(const ServableStateMonitor::AllStates& states,
                                  const std::string& name, uint64_t after_event,
                                  const std::set<int64_t>& settling) {
  auto it = states.find(name);
  if (it == states.end()) return nullptr;
  bool may_follow = false;
  for (const auto& [version, state] : it->second) {
    if (state.state == State::kAvailable) return &state;
    may_follow |= state.state == State::kStart || state.state == State::kLoading;
    const bool failed = state.state == State::kEnd && !state.health.ok();
    if (failed && !may_follow && state.sequence > after_event &&
        settling.lower_bound(version) == settling.end()) {
      return &state;
    }
  }
  return nullptr;
}

}  // namespace

ServedModels::ServedModels(Options options)
    : options_(std::move(options)),
      monitor_(&bus_),
      metrics_(options_.metrics == nullptr
                   ? nullptr
                   : std::make_unique<VersionMetrics>(&bus_, options_.metrics)),
      manager_(WithBus(options_.manager, &bus_)),
      adapter_([this](const ServableId& id, const std::string& directory) {
        return MakeLoader(id, directory);
      }),
      source_(options_.source),
      gate_subscription_(options_.gate == nullptr
                             ? nullptr
                             : bus_.Subscribe([gate = options_.gate](const ServableState& state) {
                                 gate->NoteState(state);
                               })) {
  if (options_.metrics != nullptr) CollectMetrics(options_.metrics);
  adapter_.ConnectTo(&manager_);
  if (options_.gate == nullptr) {
    source_.ConnectTo(&adapter_);
  } else {
    source_.ConnectTo(options_.gate);
    options_.gate->ConnectTo(&adapter_);
  }
}

ServedModels::~ServedModels() {
  Stop();
  if (options_.gate != nullptr) options_.gate->Disconnect();
}

void ServedModels::CollectMetrics(MetricsRegistry* registry) {
  collections_ = CollectRequests([this] { return AcquireAll(); }, registry);
  collections_.push_back(CollectAvailableVersions([this] { return NumAvailable(); }, registry));
  collections_.push_back(CollectVersionMemory([this] { return manager_.MemoryInUse(); }, registry));
}

std::map<std::string, int64_t> ServedModels::NumAvailable() const {
  std::map<std::string, int64_t> counts;
  absl::MutexLock lock(&config_mu_);
  if (!config_) return counts;
  for (const std::string& name : ModelNames(*config_)) {
    counts[name] = static_cast<int64_t>(manager_.AvailableVersions(name).size());
  }
  return counts;
}

std::vector<ModelHandle> ServedModels::AcquireAll(absl::string_view name) const {
  std::vector<ModelHandle> handles;
  for (const ServableId& id : manager_.AvailableVersions()) {
    if (!name.empty() && id.name != name) continue;
    // A version may have gone meanwhile.
    auto handle = manager_.Acquire<const Servable>({.name = id.name, .version = id.version});
    if (handle.ok()) handles.push_back(*std::move(handle));
  }
  return handles;
}

void ServedModels::Stop() {
  stopped_ = true;
  Wake();
  source_.StopLooking();
}

void ServedModels::Wake() {
  monitor_.Wake();
  absl::MutexLock lock(&apply_mu_);  // whoever awaits a condition under it looks again
}

absl::Status ServedModels::AwaitTurn(const CallOptions& options) {
  absl::MutexLock lock(&apply_mu_);
  auto may_go_on = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(apply_mu_) {
    return !applying_ || stopped_ || IsCancelled(options);
  };
  const bool in_time = apply_mu_.AwaitWithDeadline(absl::Condition(&may_go_on), options.deadline);
  if (stopped_) return ShuttingDown();
  if (applying_) {
    constexpr absl::string_view kWhy =
        "an earlier configuration is still waiting for its models; this one was not applied";
    return in_time ? absl::CancelledError(kWhy) : absl::DeadlineExceededError(kWhy);
  }
  applying_ = true;
  return absl::OkStatus();
}

absl::Status ServedModels::InTurn(const CallOptions& options,
                                  absl::FunctionRef<absl::Status()> apply) {
  CancellationManager::Token token;
  const bool watches_cancellation =
      options.cancellation != nullptr && options.cancellation->Register([this] { Wake(); }, &token);
  absl::Cleanup watch_no_more = [&] {
    if (watches_cancellation) options.cancellation->Deregister(token);
  };
  RETURN_IF_ERROR(AwaitTurn(options));
  absl::Cleanup done = [this] {
    absl::MutexLock lock(&apply_mu_);
    applying_ = false;
  };
  try {
    return apply();
  } catch (const std::exception& error) {  // such as of a thread that the system refuses
    return absl::ResourceExhaustedError(
        absl::StrCat("the configuration cannot be applied: ", error.what()));
  }
}

absl::Status ServedModels::ApplyConfig(const ModelServerConfig& config, const CallOptions& options,
                                       absl::FunctionRef<void()> before_change) {
  return InTurn(options, [&] { return ApplyConfigInTurn(config, options, before_change); });
}

absl::Status ServedModels::ApplyConfigInTurn(const ModelServerConfig& config,
                                             const CallOptions& options,
                                             absl::FunctionRef<void()> before_change) {
  std::set<std::string> new_names = ModelNames(config);
  // Clients look for these words, which differ between a start and a reload in TensorFlow Serving.
  absl::string_view noun = " servable";
  {
    absl::MutexLock lock(&config_mu_);
    if (config_) noun = " model";
    RETURN_IF_ERROR(
        CheckModelServerConfig(config, config_ ? &*config_ : nullptr, Keys(options_.platforms)));
    if (config_) {
      for (const std::string& name : ModelNames(*config_)) new_names.erase(name);
    }
  }
  // A file with only comments changes nothing. It may be filled later.
  if (config.config_case() == ModelServerConfig::CONFIG_NOT_SET) return absl::OkStatus();
  RETURN_IF_ERROR(CheckLabels(config));
  std::map<std::string, std::string> platform_of;
  for (const ModelConfig& model : config.model_config_list().config()) {
    ASSIGN_OR_RETURN(platform_of[model.name()], PlatformOf(model));
  }
  before_change();
  ASSIGN_OR_RETURN(std::vector<MonitoredServable> servables, ServablesOf(config));
  if (options_.on_config != nullptr) options_.on_config(config);
  auto labels = std::make_unique<Labels>();
  for (const ModelConfig& model : config.model_config_list().config()) {
    auto& of_model = (*labels)[model.name()];
    for (const auto& [label, version] : model.version_labels()) of_model[label] = version;
  }
  labels_.Publish(std::move(labels));
  {
    absl::MutexLock lock(&config_mu_);
    config_ = config;
    std::erase_if(unloaded_, [&](const std::string& name) { return !platform_of.contains(name); });
    for (const auto& [name, platform] : platform_of) platform_of_[name] = platform;
  }
  const uint64_t last_event = monitor_.last_sequence();
  source_.SetServables(std::move(servables));
  {
    absl::MutexLock lock(&config_mu_);
    platform_of_ = std::move(platform_of);
  }
  return AwaitModels(new_names, last_event, noun, options);
}

absl::StatusOr<std::vector<MonitoredServable>> ServedModels::ServablesOf(
    const ModelServerConfig& config) const {
  std::vector<MonitoredServable> servables = MonitoredServables(config);
  RETURN_IF_ERROR(LetGateChoose(config, options_.gate, &servables));
  absl::MutexLock lock(&config_mu_);
  std::erase_if(servables, [this](const MonitoredServable& servable) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                               config_mu_) { return unloaded_.contains(servable.name); });
  return servables;
}

absl::Status ServedModels::HoldUnloaded(absl::string_view name, bool unloaded) {
  const ModelServerConfig config = this->config();
  const std::set<std::string> names = ModelNames(config);
  if (!names.contains(std::string(name))) {
    return absl::NotFoundError(absl::StrCat("model '", name, "' is not configured; there are: ",
                                            names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  {
    absl::MutexLock lock(&config_mu_);
    if (unloaded) {
      unloaded_.emplace(name);
    } else {
      unloaded_.erase(std::string(name));
    }
  }
  ASSIGN_OR_RETURN(std::vector<MonitoredServable> servables, ServablesOf(config));
  source_.SetServables(std::move(servables));
  return absl::OkStatus();
}

absl::Status ServedModels::UnloadModel(absl::string_view name, const CallOptions& options) {
  return InTurn(options, [&]() -> absl::Status {
    RETURN_IF_ERROR(HoldUnloaded(name, /*unloaded=*/true));
    const auto none_answers = [&](const ServableStateMonitor::AllStates& states) {
      const auto of_model = states.find(name);
      return stopped_ || IsCancelled(options) || of_model == states.end() ||
             std::none_of(of_model->second.begin(), of_model->second.end(), [](const auto& entry) {
               return entry.second.state == State::kAvailable;
             });
    };
    if (!monitor_.WaitUntil(none_answers, options.deadline)) {
      return absl::DeadlineExceededError(absl::StrCat("model '", name, "' is still unloading"));
    }
    if (stopped_) return ShuttingDown();
    return IsCancelled(options) ? absl::CancelledError("the caller waits no more")
                                : absl::OkStatus();
  });
}

absl::Status ServedModels::LoadModel(absl::string_view name, const CallOptions& options) {
  return InTurn(options, [&]() -> absl::Status {
    const uint64_t last_event = monitor_.last_sequence();
    RETURN_IF_ERROR(HoldUnloaded(name, /*unloaded=*/false));
    // The source has looked just now. Whoever waited for a version that somebody may push some day
    // would hold up all other changes.
    const FileSystemSource::Outlook outlook = source_.OutlookOf(std::string(name));
    if (!outlook.problem.empty() && outlook.settling.empty()) {
      return absl::UnknownError(absl::StrCat("model '", name,
                                             "' has no version to load: ", outlook.problem,
                                             "; a version is loaded once it is there"));
    }
    return AwaitModels({std::string(name)}, last_event, " model", options);
  });
}

absl::StatusOr<std::unique_ptr<Loader>> ServedModels::MakeLoader(
    const ServableId& id, const std::string& directory) const {
  const LoaderFactory* factory = nullptr;
  {
    absl::MutexLock lock(&config_mu_);
    auto platform = platform_of_.find(id.name);
    if (platform == platform_of_.end()) {
      return absl::NotFoundError(absl::StrCat("model ", id.name, " is not configured"));
    }
    // The factory exists, because a configuration with an unknown platform is refused.
    factory = &options_.platforms.at(platform->second);
  }
  return (*factory)(id, directory);
}

absl::Status ServedModels::CheckLabels(const ModelServerConfig& config) const {
  for (const ModelConfig& model : config.model_config_list().config()) {
    for (const auto& [label, version] : model.version_labels()) {
      const absl::StatusOr<int64_t> before = VersionOfLabel(model.name(), label);
      const bool may_point_anywhere =
          options_.allow_labels_for_unavailable_models && (!before.ok() || *before == version);
      if (may_point_anywhere) continue;
      const std::vector<int64_t> available = manager_.AvailableVersions(model.name());
      if (std::find(available.begin(), available.end(), version) == available.end()) {
        return absl::FailedPreconditionError(
            absl::StrCat("Request to assign label to version ", version, " of model ", model.name(),
                         ", which is not currently available for inference",
                         options_.allow_labels_for_unavailable_models
                             ? ""
                             : "; --allow_version_labels_for_unavailable_models lets a new label, "
                               "such as one of a first configuration, name such a version"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ServedModels::AwaitModels(const std::set<std::string>& names, uint64_t after_event,
                                       absl::string_view noun, const CallOptions& options) {
  std::map<std::string, ServableState> outcomes;
  auto done = [&](const ServableStateMonitor::AllStates& states) {
    for (const std::string& name : names) {
      if (outcomes.contains(name)) continue;
      const std::set<int64_t> settling = source_.OutlookOf(name).settling;
      if (const ServableState* state = FirstOutcome(states, name, after_event, settling)) {
        outcomes[name] = *state;
      }
    }
    return outcomes.size() == names.size() || stopped_ || IsCancelled(options);
  };
  absl::Time next_log = absl::Now() + kWaitLogInterval;
  while (!monitor_.WaitUntil(done, std::min(absl::Now() + kLookInterval, options.deadline)) &&
         absl::Now() < options.deadline) {
    if (absl::Now() < next_log) continue;
    next_log = absl::Now() + kWaitLogInterval;
    for (const std::string& name : names) {
      if (!outcomes.contains(name)) LogWait(name);
    }
  }

  int num_failed = 0;
  std::string failed;
  for (const auto& [name, state] : outcomes) {
    if (state.state == State::kAvailable) continue;
    ++num_failed;
    absl::StrAppend(&failed, "{", state.id.ToString(), " due to error: ", state.health.ToString(),
                    "}, ");
  }
  if (num_failed > 0) {
    return absl::UnknownError(
        absl::StrCat(num_failed, noun, "(s) did not become available: {", failed, "}"));
  }
  if (outcomes.size() == names.size()) return absl::OkStatus();
  if (stopped_) return ShuttingDown();
  const std::string waiting = absl::StrCat(
      names.size() - outcomes.size(),
      " model(s) of the configuration have no version yet; they will be served once they have");
  return IsCancelled(options) ? absl::CancelledError(waiting)
                              : absl::DeadlineExceededError(waiting);
}

void ServedModels::LogWait(const std::string& name) const {
  const FileSystemSource::Outlook outlook = source_.OutlookOf(name);
  std::string reason = outlook.problem;
  if (!outlook.settling.empty()) {
    reason = absl::StrCat("being copied: ", absl::StrJoin(outlook.settling, ", "));
  }
  for (const auto& [version, state] : monitor_.StatesOf(name)) {
    absl::StrAppend(&reason, reason.empty() ? "" : "; ", "version ", version, " is in state ",
                    StateName(state.state));
  }
  LOG(INFO) << "still waiting for a first version of '" << name << "': " << reason;
}

std::string ServedModels::WhatThereIs(absl::string_view model) const {
  const std::vector<int64_t> ready = manager_.AvailableVersions(model);
  if (!ready.empty()) return absl::StrCat("ready versions: ", absl::StrJoin(ready, ", "));
  if (monitor_.StatesOf(model).empty()) return "no version of such a model has been found";
  return absl::StrCat("no version is ready: the model's status, GET /v1/models/", model,
                      ", tells why");
}

absl::StatusOr<int64_t> ServedModels::VersionOfLabel(absl::string_view model,
                                                     absl::string_view label) const {
  if (options_.router != nullptr) {
    if (const auto version = options_.router->VersionOfLabel(model, label)) return *version;
  }
  return ConfiguredLabel(model, label);
}

absl::StatusOr<int64_t> ServedModels::ConfiguredLabel(absl::string_view model,
                                                      absl::string_view label) const {
  return labels_.Read([&](const Labels* labels) -> absl::StatusOr<int64_t> {
    if (labels == nullptr) {
      return absl::UnavailableError(absl::StrCat("Model labels does not init yet.", label));
    }
    std::set<absl::string_view> there;
    if (auto of_model = labels->find(model); of_model != labels->end()) {
      if (auto it = of_model->second.find(label); it != of_model->second.end()) return it->second;
      for (const auto& [name, version] : of_model->second) there.insert(name);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "Unrecognized servable version label: ", label,
        "; labels of the model: ", there.empty() ? "none" : absl::StrJoin(there, ", ")));
  });
}

absl::StatusOr<ModelHandle> ServedModels::Acquire(const ModelSpec& spec, RoutingKeys keys) const {
  if (IsRouted(spec)) [[unlikely]] {
    ModelHandle model = AcquireRouted(spec.name, options_.router->Choose(spec.name, keys));
    if (model) return model;
  }
  return Acquire(spec);
}

ModelHandle ServedModels::AcquireRouted(absl::string_view model,
                                        std::optional<int64_t> version) const {
  if (!version) return {};
  auto acquired = manager_.Acquire<const Servable>({.name = model, .version = version});
  return acquired.ok() ? *std::move(acquired) : ModelHandle();
}

absl::StatusOr<ModelHandle> ServedModels::Acquire(const ModelSpec& spec) const {
  if (IsRouted(spec)) [[unlikely]] {
    ModelHandle model =
        AcquireRouted(spec.name, options_.router->VersionOfLabel(spec.name, kStableLabel));
    if (model) return model;
  }
  if (spec.name.empty()) {
    return absl::InvalidArgumentError("ModelSpec has no name specified.");
  }
  ServableRequest request{.name = spec.name, .version = spec.version};
  const bool is_labelled = !request.version && spec.label;
  if (is_labelled) {
    ASSIGN_OR_RETURN(request.version, VersionOfLabel(spec.name, *spec.label));
  }
  absl::StatusOr<ModelHandle> model = manager_.Acquire<const Servable>(request);
  while (is_labelled && absl::IsNotFound(model.status())) {
    // A configuration may have moved the label and unloaded its old version since the look-up.
    ASSIGN_OR_RETURN(const int64_t version, VersionOfLabel(spec.name, *spec.label));
    if (version == *request.version) break;
    request.version = version;
    model = manager_.Acquire<const Servable>(request);
  }
  if (!absl::IsNotFound(model.status())) return model;
  return absl::NotFoundError(absl::StrCat(model.status().message(), "; ", WhatThereIs(spec.name)));
}

ModelServerConfig ServedModels::config() const {
  absl::MutexLock lock(&config_mu_);
  return config_.value_or(ModelServerConfig());
}

bool ServedModels::IsReady() const {
  if (stopped_) return false;
  absl::MutexLock lock(&config_mu_);
  if (!config_) return false;
  for (const ModelConfig& model : config_->model_config_list().config()) {
    if (manager_.AvailableVersions(model.name()).empty()) return false;
  }
  return true;
}

}  // namespace tessera::serving
