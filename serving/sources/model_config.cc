#include "serving/sources/model_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::ModelConfig;
using tensorflow::serving::ModelConfigList;
using tensorflow::serving::ModelServerConfig;

// Returns the path of a base path, which may be the URI of a local file.
absl::string_view LocalPath(const ModelConfig& model) {
  return absl::StripPrefix(model.base_path(), "file://");
}

absl::Status CheckBasePath(const ModelConfig& model) {
  const absl::string_view path = LocalPath(model);
  if (absl::StrContains(path, "://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("Model ", model.name(), " has base_path ", path,
                     ", a remote file system; only local paths can be served: mount it"));
  }
  if (!absl::StartsWith(path, "/")) {
    return absl::InvalidArgumentError(absl::StrCat("Expected model ", model.name(),
                                                   " to have an absolute path or URI; got "
                                                   "base_path()=",
                                                   path));
  }
  return absl::OkStatus();
}

absl::Status CheckList(const ModelConfigList& list) {
  std::set<std::string> names;
  for (const ModelConfig& model : list.config()) {
    if (!names.insert(model.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("Illegal to list model ", model.name(), " multiple times in config list"));
    }
  }
  for (const ModelConfig& model : list.config()) RETURN_IF_ERROR(CheckBasePath(model));
  return absl::OkStatus();
}

absl::Status CheckPlatforms(const ModelConfigList& list, const ModelServerConfig* previous,
                            const std::set<std::string>& platforms) {
  std::map<std::string, std::string> platforms_before;
  if (previous != nullptr) {
    for (const ModelConfig& model : previous->model_config_list().config()) {
      ASSIGN_OR_RETURN(platforms_before[model.name()], PlatformOf(model));
    }
  }
  for (const ModelConfig& model : list.config()) {
    ASSIGN_OR_RETURN(const std::string platform, PlatformOf(model));
    if (model.model_platform().empty()) {
      LOG(WARNING) << "model '" << model.name()
                   << "': model_type is deprecated, use model_platform: \"" << platform << "\"";
    }
    auto before = platforms_before.find(model.name());
    if (before != platforms_before.end() && before->second != platform) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Illegal to change a model's platform. For model ", model.name(), " platform was ",
          before->second, " and new platform requested is ", platform));
    }
    if (!platforms.contains(platform)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Model ", model.name(), " requests unsupported platform ", platform,
                       "; supported: ", absl::StrJoin(platforms, ", ")));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLogging(const ModelConfigList& list) {
  std::map<std::string, std::string> models;  // by prefix
  for (const ModelConfig& model : list.config()) {
    if (!model.has_logging_config()) continue;
    std::vector<std::string> errors = LoggingConfigErrors(model);
    const std::string& prefix = model.logging_config().log_collector_config().filename_prefix();
    const auto [first, is_first] = models.emplace(prefix, model.name());
    if (!is_first) {
      errors.push_back(absl::StrCat("log_collector_config.filename_prefix '", prefix,
                                    "' is that of model ", first->second,
                                    "; each model needs its own"));
    }
    if (!errors.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("logging_config of model ", model.name(), ": ", errors.front()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> LoggingConfigErrors(const ModelConfig& model) {
  std::vector<std::string> errors;
  if (!model.has_logging_config()) return errors;
  const auto& logging = model.logging_config();
  const auto& collector = logging.log_collector_config();
  if (collector.type() != kTfRecordCollector) {
    errors.push_back(absl::StrCat("log_collector_config.type is '", collector.type(),
                                  "'; it must be '", kTfRecordCollector, "'"));
  }
  const std::string& prefix = collector.filename_prefix();
  if (!absl::StartsWith(prefix, "/") || absl::EndsWith(prefix, "/")) {
    errors.push_back(absl::StrCat("log_collector_config.filename_prefix is '", prefix,
                                  "'; it must be an absolute path that ends in the beginning of a "
                                  "file's name"));
  }
  const auto& sampling = logging.sampling_config();
  if (!(sampling.sampling_rate() >= 0 && sampling.sampling_rate() <= 1)) {
    errors.push_back(absl::StrCat("sampling_config.sampling_rate is ", sampling.sampling_rate(),
                                  "; it must be from 0 to 1"));
  }
  if (sampling.per_task_sampling_configs_size() > 0 || logging.has_custom_logging_config()) {
    errors.push_back(
        "per_task_sampling_configs and custom_logging_config are not supported; remove them");
  }
  return errors;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
// The older `model_type` is an enum whose one useful value is the platform of the same name.
absl::StatusOr<std::string> PlatformOf(const ModelConfig& model) {
  const int type = static_cast<int>(model.model_type());
  if (type != 0 && !model.model_platform().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Illegal setting both ModelServerConfig::model_type (deprecated) and ::model_platform of "
        "model ",
        model.name()));
  }
  if (type == 0 && model.model_platform().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Illegal setting neither ModelServerConfig::model_type (deprecated) nor ::model_platform "
        "of model ",
        model.name(), "; set model_platform: \"", kTensorFlowPlatform, "\""));
  }
  if (type == 0) return model.model_platform();
  if (type == tensorflow::serving::TENSORFLOW) return std::string(kTensorFlowPlatform);
  return absl::InvalidArgumentError(absl::StrCat("ModelServerConfig::model_type of model ",
                                                 model.name(), ": choice ", type,
                                                 " not supported."));
}
#pragma GCC diagnostic pop

absl::Status CheckModelServerConfig(const ModelServerConfig& config,
                                    const ModelServerConfig* previous,
                                    const std::set<std::string>& platforms) {
  if (config.has_custom_model_config()) {
    const bool was_list = previous != nullptr && previous->has_model_config_list();
    return absl::FailedPreconditionError(absl::StrCat(
        was_list ? "Cannot transition to requested config. It is only legal to transition from one "
                   "ModelConfigList to another."
                 : "custom_model_config is not supported; list the models in model_config_list"));
  }
  RETURN_IF_ERROR(CheckList(config.model_config_list()));
  RETURN_IF_ERROR(CheckPlatforms(config.model_config_list(), previous, platforms));
  return CheckLogging(config.model_config_list());
}

std::vector<MonitoredServable> MonitoredServables(const ModelServerConfig& config) {
  std::vector<MonitoredServable> servables;
  for (const ModelConfig& model : config.model_config_list().config()) {
    MonitoredServable servable{.name = model.name(), .base_path = std::string(LocalPath(model))};
    const auto& policy = model.model_version_policy();
    if (policy.has_all()) {
      servable.versions.kind = VersionChoice::Kind::kAll;
    } else if (policy.has_specific()) {
      servable.versions.kind = VersionChoice::Kind::kSpecific;
      servable.versions.specific.assign(policy.specific().versions().begin(),
                                        policy.specific().versions().end());
    } else {
      servable.versions.num_latest = std::max<int64_t>(1, policy.latest().num_versions());
    }
    servables.push_back(std::move(servable));
  }
  return servables;
}

}  // namespace tessera::serving
