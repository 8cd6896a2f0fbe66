#include "serving/server/config_check.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model.h"
#include "serving/core/memory_budget.h"
#include "serving/frontend/admin/admin_access.h"
#include "serving/frontend/grpc/port_check.h"
#include "serving/frontend/grpc/server_credentials.h"
#include "serving/servables/saved_model/version_check.h"
#include "serving/servables/saved_model/version_files.h"
#include "serving/server/op_libraries.h"
#include "serving/server/text_proto_file.h"
#include "serving/sources/file_system_source.h"
#include "serving/sources/model_config.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::BatchingParameters;
using tensorflow::serving::ModelConfig;
using tensorflow::serving::ModelServerConfig;

constexpr absl::string_view kUnlessItsOwn = ", unless it is the one that this configuration is for";

bool IsDirectory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

void CheckPorts(const ServerOptions& options, ConfigReport* report) {
  std::map<int32_t, std::string> flags_by_port;
  for (const auto& [flag, port] :
       {std::pair("port", options.port), std::pair("rest_api_port", options.rest_api_port),
        std::pair("admin_port", options.admin_port)}) {
    if (port <= 0 || port > 65535) continue;
    const auto [other, is_first] = flags_by_port.emplace(port, flag);
    // ReadSettings() refuses the last one.
    if (!is_first && absl::string_view(flag) == "admin_port") continue;
    if (!is_first) {
      report->Add({.key = flag},
                  absl::InvalidArgumentError(absl::StrCat(flag, " is that of ", other->second, ", ",
                                                          port, "; give each a port of its own")));
      continue;
    }
    if (const absl::Status status = CheckPortIsFree(port); !status.ok()) {
      report->Warn({.key = flag}, absl::StrCat(status.message(), kUnlessItsOwn));
    }
  }
}

// Checks that the server may write to a file, or make it in its directory.
void CheckFolder(const std::string& flag, const std::string& path, ConfigReport* report) {
  if (access(path.c_str(), W_OK) == 0 && !IsDirectory(path)) return;
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  const auto add = [&](absl::string_view what) {
    report->Add({.key = flag}, absl::InvalidArgumentError(absl::StrCat("'", path, "' ", what)));
  };
  if (IsDirectory(path)) {
    add("is a directory; name a file in it");
  } else if (!IsDirectory(folder)) {
    add("lies in no directory; make it, or choose another path");
  } else if (access(folder.c_str(), W_OK) != 0) {
    add("lies in a directory that this user may not write to; allow it, or choose another path");
  }
}

void CheckSocket(const std::string& path, ConfigReport* report) {
  const auto add = [&](absl::string_view what) {
    report->Add({.key = "grpc_socket_path"},
                absl::InvalidArgumentError(absl::StrCat("'", path, "' ", what)));
  };
  const size_t limit = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > limit) {
    add(absl::StrCat("has ", path.size(), " bytes; the path of a socket has at most ", limit));
  }
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode)) {
    add("is there and no socket; remove it, or choose another path");
  }
  if (const absl::Status status = CheckSocketIsFree(path); !status.ok()) {
    report->Warn({.key = "grpc_socket_path"}, absl::StrCat(status.message(), kUnlessItsOwn));
  }
}

void CheckFiles(const ServerOptions& options, ConfigReport* report) {
  if (!options.grpc_socket_path.empty()) {
    CheckSocket(options.grpc_socket_path, report);
    CheckFolder("grpc_socket_path", options.grpc_socket_path, report);
  }
  if (!options.access_log.empty() && options.access_log != "-") {
    CheckFolder("access_log", options.access_log, report);
  }
  if (!options.rollouts.empty()) {
    CheckFolder("rollout_state_file", RolloutStateFile(options), report);
  }
}

void CheckBatching(const ServerSettings& settings, const ServerOptions& options,
                   ConfigReport* report) {
  if (!settings.batching || settings.batching->per_model_parameters) return;
  for (const absl::Status& error : MakeBatchingOptions(settings.batching->parameters).Errors()) {
    report->Add({options.batching_parameters_file, 0, "batching"}, error);
  }
}

// Tells what keeps a server that otherwise starts from serving REST, or pages on it.
void CheckRest(const ServerOptions& options, const ServerSettings& settings, ConfigReport* report) {
  if (options.rest_api_port == 0) return;
  if (options.rest_api_num_threads < 1) {
    report->Warn({.key = "rest_api_num_threads"},
                 "REST needs at least one thread, and is not served");
  }
  const std::string& path =
      settings.monitoring ? settings.monitoring->prometheus_config().path() : "";
  if (!path.empty() && path[0] != '/') {
    report->Warn({.key = "monitoring_config_file"},
                 absl::StrCat("the path of prometheus_config is '", path,
                              "', which no request names: paths begin with /"));
  }
}

// Checks the models one by one.
class ModelChecker {
 public:
  ModelChecker(const ServerOptions& options, const ServerSettings& settings, ConfigReport* report)
      : options_(options), settings_(settings), report_(report), budget_(settings.memory_limit) {}

  void Check() {
    const ModelServerConfig& config = settings_.models;
    if (config.has_custom_model_config()) {
      report_->Add(Place("custom_model_config"), CheckModelServerConfig(config, nullptr, {}));
      return;
    }
    std::map<std::string, int> indices;
    std::map<std::string, std::string> models_by_log_prefix;
    for (int i = 0; i < config.model_config_list().config_size(); ++i) {
      const ModelConfig& model = config.model_config_list().config(i);
      index_ = i;
      if (!indices.emplace(model.name(), i).second) {
        Add("name", absl::InvalidArgumentError(absl::StrCat("model '", model.name(),
                                                            "' is listed multiple times; give "
                                                            "each its own name")));
      }
      const std::string& prefix = model.logging_config().log_collector_config().filename_prefix();
      const auto [first, is_first] = models_by_log_prefix.emplace(prefix, model.name());
      if (!is_first && !prefix.empty()) {
        Add("logging_config",
            absl::InvalidArgumentError(absl::StrCat("log_collector_config.filename_prefix '",
                                                    prefix, "' is that of model '", first->second,
                                                    "'; give each model its own")));
      }
      CheckModel(model);
    }
  }

 private:
  void CheckModel(const ModelConfig& model) {
    for (const std::string& error : LoggingConfigErrors(model)) {
      Add("logging_config", absl::InvalidArgumentError(error));
    }
    ModelServerConfig alone;
    *alone.mutable_model_config_list()->add_config() = model;
    alone.mutable_model_config_list()->mutable_config(0)->clear_logging_config();
    if (const absl::Status status = CheckModelServerConfig(alone, nullptr, {kTensorFlowPlatform});
        !status.ok()) {
      return Add("", status);
    }
    const MonitoredServable servable = MonitoredServables(alone).front();
    const auto versions = VersionsOf(servable);
    if (!versions.ok()) {
      return Add("base_path",
                 absl::Status(versions.status().code(),
                              absl::StrCat(versions.status().message(),
                                           "; the server would wait for it: make it, or correct "
                                           "the path")));
    }
    if (versions->empty()) {
      return Add("base_path",
                 absl::NotFoundError(absl::StrCat("'", servable.base_path,
                                                  "' has no version to serve", WhyNone(servable))));
    }
    CheckMarkers(servable, *versions);
    for (const auto& [number, path] : *versions) CheckVersionOf(model, number, path);
    CheckLabels(model, *versions);
  }

  static absl::StatusOr<std::map<int64_t, std::string>> VersionsOf(
      const MonitoredServable& servable) {
    return FindVersions(servable,
                        [](int64_t /*number*/, const std::string& /*path*/) { return true; });
  }

  // Why the base path has no version that the model's policy chooses.
  static std::string WhyNone(MonitoredServable servable) {
    if (HoldsSavedModel(servable.base_path)) {
      return ", but is one itself; name the directory above it, and give this one a number for its "
             "name";
    }
    servable.versions = {.kind = VersionChoice::Kind::kAll};
    const auto present = VersionsOf(servable);
    if (!present.ok() || present->empty()) {
      return "; versions are directories whose names are numbers";
    }
    const auto number = [](std::string* out, const auto& version) {
      absl::StrAppend(out, version.first);
    };
    return absl::StrCat(": none of those that model_version_policy names; there are ",
                        absl::StrJoin(*present, ", ", number));
  }

  // Checks that a version can be taken at once, where a file marks those.
  void CheckMarkers(const MonitoredServable& servable,
                    const std::map<int64_t, std::string>& versions) {
    const std::string& marker = options_.version_marker_file;
    if (marker.empty() || options_.file_system_poll_wait_seconds <= 0) return;
    const auto is_complete = [&](const auto& version) {
      return !FileExists(version.second) || FileExists(JoinPath(version.second, marker));
    };
    if (std::any_of(versions.begin(), versions.end(), is_complete)) return;
    Add("base_path",
        absl::FailedPreconditionError(absl::StrCat(
            "'", servable.base_path, "' has no version with a file '", marker,
            "', as version_marker_file asks for; the server would wait for it: make it in each "
            "version that is complete")));
  }

  void CheckVersionOf(const ModelConfig& model, int64_t number, const std::string& path) {
    for (const absl::Status& status : CheckVersion(path, settings_.saved_model_tags)) {
      Add("base_path",
          Annotate(status, absl::StrCat("version ", number, " of model '", model.name(), "': ")));
    }
    CheckMemory({model.name(), number}, path);
    const std::string parameters_file = JoinPath(path, ServerBatching::kPerModelFile);
    if (!settings_.batching || !settings_.batching->per_model_parameters ||
        !FileExists(parameters_file)) {
      return;
    }
    BatchingParameters parameters;
    if (!ReadTextProtoOfFlag("", parameters_file, &parameters, report_)) return;
    for (const absl::Status& error : MakeBatchingOptions(parameters).Errors()) {
      report_->Add({parameters_file}, error);
    }
  }

  // Checks that the version fits beside those before it.
  void CheckMemory(const ServableId& id, const std::string& path) {
    const absl::StatusOr<MemoryEstimate> estimate = EstimateVersionMemory(path);
    // CheckVersion() tells why there is no estimate, and Check() that two models have one name.
    if (!estimate.ok() || budget_.reserved().contains(id)) return;
    Add("base_path", budget_.Reserve(id, *estimate));
  }

  void CheckLabels(const ModelConfig& model, const std::map<int64_t, std::string>& versions) {
    for (const auto& [label, version] : model.version_labels()) {
      const std::string key = absl::StrCat("version_labels.", label);
      if (!versions.contains(version)) {
        Add(key, absl::FailedPreconditionError(absl::StrCat(
                     "label '", label, "' of model '", model.name(), "' names version ", version,
                     ", which is none of those that would be loaded; correct it, or "
                     "the model_version_policy")));
      } else if (!options_.allow_version_labels_for_unavailable_models) {
        Add(key, absl::FailedPreconditionError(absl::StrCat(
                     "label '", label, "' of model '", model.name(), "' names version ", version,
                     ", which is not loaded yet when a server starts; add "
                     "--allow_version_labels_for_unavailable_models")));
      }
    }
  }

  // Returns the place of a key of the models, which may be below the model under way.
  ConfigPlace Place(const std::string& key) const {
    if (!options_.model_config_file.empty()) {
      return {options_.model_config_file,
              LineOfTextProtoKey(options_.model_config_file, ModelServerConfig(), key), key};
    }
    return {options_.config, LineOfKey(options_.config, key), key};
  }

  void Add(const std::string& key, const absl::Status& status) {
    if (status.ok()) return;
    const std::string suffix = key.empty() ? "" : absl::StrCat(".", key);
    if (!options_.model_config_file.empty()) {
      report_->Add(Place(absl::StrCat("model_config_list.config[", index_, "]", suffix)), status);
    } else if (options_.models) {
      report_->Add(Place(absl::StrCat("models[", index_, "]", suffix)), status);
    } else {
      report_->Add({.key = key == "name" ? "model_name" : "model_base_path"}, status);
    }
  }

  const ServerOptions& options_;
  const ServerSettings& settings_;
  ConfigReport* const report_;
  MemoryBudget budget_;  // of the versions that were checked
  int index_ = 0;
};

}  // namespace

void CheckConfig(const ServerOptions& options, const ServerSettings& settings,
                 ConfigReport* report) {
  CheckPorts(options, report);
  CheckFiles(options, report);
  if (options.admin_port != 0) {
    report->Add({.key = options.admin_token_file.empty() ? "admin_address" : "admin_token_file"},
                AdminAccess::Make(options.admin_address, options.admin_token_file).status());
  }
  if (options.use_alts_credentials) {
    report->Add({.key = "use_alts_credentials"}, MakeServerCredentials({.alts = true}).status());
  }
  report->Add({.key = "op_library"}, LoadOpLibraries(options.op_library).status());
  CheckRest(options, settings, report);
  CheckBatching(settings, options, report);
  ModelChecker(options, settings, report).Check();
}

}  // namespace tessera::serving
