#include "serving/frontend/kserve/model_repository.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/kserve/model_description.h"

namespace tessera::serving {
namespace {

// The names of the extensions that Triton lists and this server has.
constexpr std::array<absl::string_view, 10> kExtensions = {"classification",
                                                           "sequence",
                                                           "model_repository",
                                                           "schedule_policy",
                                                           "model_configuration",
                                                           "binary_tensor_data",
                                                           "parameters",
                                                           "statistics",
                                                           "trace",
                                                           "logging"};

absl::StatusOr<std::optional<int64_t>> ParseVersion(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  int64_t version;
  const bool is_number = text.find_first_not_of("0123456789") == text.npos;
  if (is_number && absl::SimpleAtoi(text, &version)) return version;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no version: a whole number is one"));
}

absl::string_view StateText(State state) {
  switch (state) {
    case State::kStart:
    case State::kLoading:
      return "LOADING";
    case State::kAvailable:
      return "READY";
    case State::kUnloading:
      return "UNLOADING";
    case State::kEnd:
      break;
  }
  return "UNAVAILABLE";
}

std::string Reason(const ServableState& state) {
  if (!state.health.ok()) return std::string(state.health.message());
  return state.state == State::kEnd ? "unloaded" : "";
}

// Checks that a request for settings, of which *current are all, changes none of them.
template <typename Settings>
absl::Status CheckUnchanged(const Settings& asked, const Settings& current) {
  for (const auto& [name, value] : asked) {
    const auto found = current.find(name);
    if (found == current.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no setting '", name, "'"));
    }
    if (value.SerializeAsString() != found->second.SerializeAsString()) {
      return absl::UnimplementedError(
          absl::StrCat("the setting '", name, "' cannot be changed while the server runs"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

ModelRepository::ModelRepository(Options options, const RequestHandler* handler,
                                 ServedModels* models)
    : options_(std::move(options)), handler_(handler), models_(models) {}

void ModelRepository::FillServer(inference::ServerMetadataResponse* server) const {
  server->set_name("tessera");
  server->set_version(options_.server_version);
  for (const absl::string_view extension : kExtensions) {
    server->add_extensions(std::string(extension));
  }
}

absl::Status ModelRepository::Missing(const ModelSpec& spec, const absl::Status& not_found) const {
  if (!absl::IsNotFound(not_found) || !spec.version) return not_found;
  const auto states = handler_->StatesOf(spec.name, spec.version);
  if (!states.ok() || states->front().health.ok()) return not_found;
  return absl::UnavailableError(absl::StrCat("version ", *spec.version, " of model '", spec.name,
                                             "' failed: ", states->front().health.message()));
}

absl::StatusOr<RoutedModel> ModelRepository::Find(absl::string_view name, absl::string_view version,
                                                  RoutingKeys keys) const {
  ModelSpec spec{.name = name};
  ASSIGN_OR_RETURN(spec.version, ParseVersion(version));
  absl::StatusOr<RoutedModel> model = handler_->FindModel(spec, keys);
  if (!model.ok()) return Missing(spec, model.status());
  return model;
}

absl::StatusOr<ModelHandle> ModelRepository::FindDescribed(absl::string_view name,
                                                           absl::string_view version) const {
  ModelSpec spec{.name = name};
  ASSIGN_OR_RETURN(spec.version, ParseVersion(version));
  absl::StatusOr<ModelHandle> model = handler_->FindDescribedModel(spec);
  if (!model.ok()) return Missing(spec, model.status());
  return model;
}

absl::StatusOr<bool> ModelRepository::IsModelReady(absl::string_view name,
                                                   absl::string_view version) const {
  RETURN_IF_ERROR(ParseVersion(version).status());
  return FindDescribed(name, version).ok();
}

absl::Status ModelRepository::FillModel(absl::string_view name, absl::string_view version,
                                        inference::ModelMetadataResponse* metadata) const {
  ASSIGN_OR_RETURN(const ModelHandle model, FindDescribed(name, version));
  for (const ModelHandle& other : models_->AcquireAll(name)) {
    metadata->add_versions(absl::StrCat(other.version()));
  }
  return FillMetadata(model->info(), metadata);
}

absl::Status ModelRepository::FillModelConfig(absl::string_view name, absl::string_view version,
                                              inference::ModelConfig* config) const {
  ASSIGN_OR_RETURN(const ModelHandle model, FindDescribed(name, version));
  return FillConfig(model->info(), config);
}

absl::Status ModelRepository::FillModelStatistics(
    absl::string_view name, absl::string_view version,
    inference::ModelStatisticsResponse* statistics) const {
  std::vector<ModelHandle> models;
  if (!version.empty()) {
    ASSIGN_OR_RETURN(models.emplace_back(), FindDescribed(name, version));
  } else {
    models = models_->AcquireAll(name);
    if (models.empty() && !name.empty()) return FindDescribed(name, version).status();
  }
  for (const ModelHandle& model : models) {
    FillStatistics(model.id(), model->request_stats(), statistics->add_model_stats());
  }
  return absl::OkStatus();
}

absl::Status ModelRepository::FillIndex(const inference::RepositoryIndexRequest& request,
                                        inference::RepositoryIndexResponse* index) const {
  if (!request.repository_name().empty()) {
    return absl::UnimplementedError("there is one repository, which has no name");
  }
  const auto states = models_->states().All();
  const auto config = models_->config();
  for (const auto& model : config.model_config_list().config()) {
    const auto of_model = states.find(model.name());
    if (of_model == states.end() && !request.ready()) index->add_models()->set_name(model.name());
    if (of_model == states.end()) continue;
    for (const auto& [version, state] : of_model->second) {
      if (request.ready() && state.state != State::kAvailable) continue;
      auto* const entry = index->add_models();
      entry->set_name(model.name());
      entry->set_version(absl::StrCat(version));
      entry->set_state(std::string(StateText(state.state)));
      entry->set_reason(Reason(state));
    }
  }
  return absl::OkStatus();
}

absl::Status ModelRepository::CheckControl(absl::string_view repository_name) const {
  if (!options_.allow_model_control) {
    return absl::UnavailableError(
        "models cannot be loaded and unloaded by requests; --enable_model_control allows it");
  }
  if (repository_name.empty()) return absl::OkStatus();
  return absl::UnimplementedError("there is one repository, which has no name");
}

absl::Status ModelRepository::LoadModel(const inference::RepositoryModelLoadRequest& request,
                                        const CallOptions& options) {
  RETURN_IF_ERROR(CheckControl(request.repository_name()));
  if (!request.parameters().empty()) {
    return absl::UnimplementedError(
        absl::StrCat("a model is loaded as it is configured: the parameter '",
                     request.parameters().begin()->first, "' cannot change that"));
  }
  const absl::Status status = models_->LoadModel(request.model_name(), options);
  return absl::IsUnknown(status) ? absl::InvalidArgumentError(status.message()) : status;
}

absl::Status ModelRepository::UnloadModel(const inference::RepositoryModelUnloadRequest& request,
                                          const CallOptions& options) {
  RETURN_IF_ERROR(CheckControl(request.repository_name()));
  return models_->UnloadModel(request.model_name(), options);
}

absl::Status ModelRepository::FillTraceSettings(const inference::TraceSettingRequest& request,
                                                inference::TraceSettingResponse* settings) const {
  if (!request.model_name().empty()) {
    RETURN_IF_ERROR(FindDescribed(request.model_name(), "").status());
  }
  inference::TraceSettingRequest current;
  (*current.mutable_settings())["trace_level"].add_value("OFF");
  RETURN_IF_ERROR(CheckUnchanged(request.settings(), current.settings()));
  (*settings->mutable_settings())["trace_level"].add_value("OFF");
  return absl::OkStatus();
}

absl::Status ModelRepository::FillLogSettings(const inference::LogSettingsRequest& request,
                                              inference::LogSettingsResponse* settings) const {
  inference::LogSettingsRequest current;
  auto& values = *current.mutable_settings();
  values["log_file"].set_string_param("");
  for (const char* level : {"log_info", "log_warning", "log_error"}) {
    values[level].set_bool_param(true);
  }
  values["log_verbose_level"].set_uint32_param(0);
  values["log_format"].set_string_param("default");
  RETURN_IF_ERROR(CheckUnchanged(request.settings(), current.settings()));
  settings->ParseFromString(current.SerializeAsString());  // the same fields
  return absl::OkStatus();
}

}  // namespace tessera::serving
