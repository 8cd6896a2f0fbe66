#include "serving/server/server_settings.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/optimize/standard_passes.h"
#include "runtime/session/numerics_name.h"
#include "serving/servables/saved_model/serving_session.h"
#include "serving/server/byte_size.h"
#include "serving/server/gpu_settings.h"
#include "serving/server/text_proto_file.h"
#include "serving/server/unused_fields.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::ModelServerConfig;
using tensorflow::serving::MonitoringConfig;

ModelServerConfig ReadModels(const ServerOptions& options, ConfigReport* report) {
  ModelServerConfig config;
  if (!options.model_config_file.empty()) {
    ReadTextProtoOfFlag("model_config_file", options.model_config_file, &config, report);
    return config;
  }
  if (options.models) return *options.models;
  if (options.model_base_path.empty()) {
    report->Add({.key = "model_base_path"},
                absl::InvalidArgumentError(
                    "Both server_options.model_base_path and server_options.model_config_file are "
                    "empty! Name a model by --model_base_path=DIR, or a file of models by "
                    "--model_config_file=FILE"));
    return config;
  }
  auto* model = config.mutable_model_config_list()->add_config();
  model->set_name(options.model_name);
  model->set_base_path(options.model_base_path);
  model->set_model_platform("tensorflow");
  return config;
}

std::optional<BatchingSettings> ReadBatching(const ServerOptions& options, ConfigReport* report) {
  if (!options.enable_batching) {
    for (const auto& [flag, value] :
         {std::pair("batching_parameters_file", &options.batching_parameters_file),
          std::pair("batching_mode", &options.batching_mode)}) {
      if (value->empty()) continue;
      report->Add({.key = flag},
                  absl::InvalidArgumentError(absl::StrCat(
                      "server_options.", flag,
                      " is set without setting server_options.enable_batching to true; add "
                      "--enable_batching")));
    }
    return std::nullopt;
  }
  BatchingSettings batching;
  ConfigPlace place = {.key = "batching"};
  if (!options.batching_parameters_file.empty()) {
    place.file = options.batching_parameters_file;
    ReadTextProtoOfFlag("batching_parameters_file", place.file, &batching.parameters, report);
  } else if (options.batching) {
    batching.parameters = *options.batching;
  }
  if (!options.batching_mode.empty()) {
    report->Take({.key = "batching_mode"}, ParseBatchingMode(options.batching_mode),
                 &batching.mode);
  }
  batching.per_model_parameters = options.enable_per_model_batching_parameters;
  report->Add(std::move(place), batching.Validate());
  return batching;
}

absl::StatusOr<std::vector<GrpcServer::Options::ChannelArgument>> ParseChannelArguments(
    const std::string& text) {
  std::vector<GrpcServer::Options::ChannelArgument> arguments;
  for (const absl::string_view item : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (item.find('=') == item.npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("grpc_channel_arguments: '", item, "' has no value; write name=value"));
    }
    GrpcServer::Options::ChannelArgument argument{.name = parts.first, .text = parts.second};
    if (int32_t number; absl::SimpleAtoi(parts.second, &number)) argument.number = number;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

// A larger number is a typing error: a pool of 30,000 threads takes gigabytes and does not become
// ready.
constexpr int64_t kMaxSessionThreads = 4096;

absl::StatusOr<int> Threads(absl::string_view flag, int64_t count) {
  if (count > kMaxSessionThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " must be at most ", kMaxSessionThreads, "; was ", count));
  }
  return static_cast<int>(std::max<int64_t>(0, count));
}

// Refuses what would run models elsewhere, and tells of what has no effect.
void CheckSessionConfig(const ServerOptions& options, const tensorflow::ConfigProto& config,
                        ConfigReport* report) {
  std::set<std::string> used = {"allow_soft_placement", "operation_timeout_in_ms"};
  std::string file = options.tensorflow_session_config_file;
  std::string where = file;
  if (where.empty()) {
    file = options.platform_config_file;
    where = absl::StrCat(options.platform_config_file, ": session_config");
    // Those of a file of its own give way to the flags.
    used.insert({"intra_op_parallelism_threads", "inter_op_parallelism_threads"});
  }
  if (!config.cluster_def().job().empty()) {
    report->Add({file, 0, "cluster_def"},
                absl::UnimplementedError(absl::StrCat(
                    where,
                    ": cluster_def names other tasks, but models run in the server's own process; "
                    "leave it out")));
    return;
  }
  if (IsBuiltForGpus()) {
    used.insert("device_count");
    used.insert(UsedGpuFields().begin(), UsedGpuFields().end());
  }
  report->Warn({file}, UnusedFieldsWarning(where, config, used));
}

// The flag takes the place of the configuration's share of memory, as in TensorFlow Serving.
void ReadGpus(const ServerOptions& options, tensorflow::ConfigProto config, SessionOptions* session,
              ConfigReport* report) {
  if (!IsBuiltForGpus()) return;
  if (const float fraction = options.per_process_gpu_memory_fraction; fraction != 0) {
    config.mutable_gpu_options()->set_per_process_gpu_memory_fraction(fraction);
  }
  const auto count = config.device_count().find(std::string(kGpu));
  if (count != config.device_count().end()) session->devices.count[count->first] = count->second;
  GpuOptions gpu;
  report->Take({.key = "tensorflow_session_config_file"}, ReadGpuOptions(config.gpu_options()),
               &gpu);
  SetGpuOptions(std::move(gpu));
}

void ReadThreads(const ServerOptions& options, SessionOptions* session, ConfigReport* report) {
  const int64_t both = options.tensorflow_session_parallelism;
  const int64_t intra = options.tensorflow_intra_op_parallelism;
  const int64_t inter = options.tensorflow_inter_op_parallelism;
  const auto take = [&](const std::string& flag, int64_t count, int* threads) {
    report->Take({.key = flag}, Threads(flag, count), threads);
  };
  if (both > 0 && intra > 0 && inter > 0) {
    report->Add({.key = "tensorflow_session_parallelism"},
                absl::InvalidArgumentError(
                    "Either configure intra/inter_op_parallelism_threads separately or session "
                    "parallelism, not all of tensorflow_session_parallelism, "
                    "tensorflow_intra_op_parallelism and tensorflow_inter_op_parallelism"));
  }
  if (intra > 0 || inter > 0) {
    take("tensorflow_intra_op_parallelism", intra, &session->intra_op_threads);
    take("tensorflow_inter_op_parallelism", inter, &session->inter_op_threads);
  } else {
    take("tensorflow_session_parallelism", both, &session->intra_op_threads);
    session->inter_op_threads = session->intra_op_threads;
  }
}

SessionOptions ReadSessionOptions(const ServerOptions& options, ConfigReport* report) {
  SessionOptions session = ServingSessionOptions();
  std::optional<tensorflow::ConfigProto> config = options.session_config;
  if (!options.tensorflow_session_config_file.empty()) {
    ReadTextProtoOfFlag("tensorflow_session_config_file", options.tensorflow_session_config_file,
                        &config.emplace(), report);
  }
  if (config) {
    CheckSessionConfig(options, *config, report);
    session.allow_soft_placement = config->allow_soft_placement();
    if (config->operation_timeout_in_ms() > 0) {
      session.default_timeout = absl::Milliseconds(config->operation_timeout_in_ms());
    }
  }
  ReadGpus(options, config.value_or(tensorflow::ConfigProto()), &session, report);
  ReadThreads(options, &session, report);
  session.optimizer.disabled_passes = absl::StrSplit(options.disable_pass, ',', absl::SkipEmpty());
  report->Add({.key = "disable_pass"},
              Annotate(CheckPassNames(session.optimizer.disabled_passes), "disable_pass: "));
  report->Take({.key = "numerics"}, ParseNumerics(options.numerics), &session.numerics);
  return session;
}

absl::StatusOr<ThreadPriority> ReadLoadPriority(const ServerOptions& options) {
  const std::string& text = options.load_priority;
  if (text == "idle") return ThreadPriority::kIdle;
  if (text == "low") return ThreadPriority::kLow;
  if (text == "none") return ThreadPriority::kNormal;
  return absl::InvalidArgumentError(
      absl::StrCat("load_priority is '", text, "'; it must be low, idle or none"));
}

std::optional<LogSeverity> ReadLogLevel(const ServerOptions& options, ConfigReport* report) {
  const std::string& text = options.log_level;
  if (text == "info") return LogSeverity::kInfo;
  if (text == "warning") return LogSeverity::kWarning;
  if (text == "error") return LogSeverity::kError;
  if (!text.empty()) {
    report->Add({.key = "log_level"},
                absl::InvalidArgumentError(
                    absl::StrCat("log_level is '", text, "'; it must be info, warning or error")));
  }
  return std::nullopt;
}

void ReadLoading(const ServerOptions& options, ServerSettings* settings, ConfigReport* report) {
  if (!options.memory_limit.empty()) {
    const absl::StatusOr<int64_t> limit = ParseByteSize(options.memory_limit);
    report->Add({.key = "memory_limit"}, Annotate(limit.status(), "memory_limit: "));
    settings->memory_limit = limit.value_or(0);
  }
  report->Take({.key = "load_priority"}, ReadLoadPriority(options), &settings->load_priority);
  // Written so that NaN is refused, too.
  if (!(options.load_cpu_share > 0 && options.load_cpu_share <= 1)) {
    report->Add({.key = "load_cpu_share"}, absl::InvalidArgumentError(absl::StrCat(
                                               "load_cpu_share is ", options.load_cpu_share,
                                               "; it must be above 0 and at most 1")));
  }
  if (options.version_settle_seconds < 0) {
    report->Add({.key = "version_settle_seconds"},
                absl::InvalidArgumentError(
                    "version_settle_seconds is negative; use 0 to take versions as they appear"));
  }
}

RotationOptions ReadRequestLog(const ServerOptions& options, ConfigReport* report) {
  RotationOptions rotation;
  const absl::StatusOr<int64_t> size = ParseByteSize(options.request_log_file_size);
  report->Add({.key = "request_log_file_size"}, Annotate(size.status(), "request_log_file_size: "));
  rotation.max_file_bytes = size.value_or(rotation.max_file_bytes);
  if (options.request_log_file_age_seconds <= 0) {
    report->Add({.key = "request_log_file_age_seconds"},
                absl::InvalidArgumentError(absl::StrCat("request_log_file_age_seconds is ",
                                                        options.request_log_file_age_seconds,
                                                        "; it must be above 0")));
  }
  rotation.max_file_age = absl::Seconds(options.request_log_file_age_seconds);
  if (options.request_log_max_files < 0) {
    report->Add({.key = "request_log_max_files"},
                absl::InvalidArgumentError(
                    absl::StrCat("request_log_max_files is ", options.request_log_max_files,
                                 "; it must be above 0, or 0 to keep all files")));
  }
  rotation.max_files = options.request_log_max_files;
  return rotation;
}

void ReadModelBlocks(const ServerOptions& options, ServerSettings* settings) {
  // The blocks belong to the models of the YAML file, which those of the other file replace.
  if (options.model_config_file.empty()) {
    settings->rollouts = options.rollouts;
    settings->limits = options.limits;
  }
  settings->rollout_state_file = RolloutStateFile(options);
}

std::set<std::string> ReadTags(const std::string& text) {
  std::set<std::string> tags = absl::StrSplit(text, ',', absl::SkipEmpty());
  if (tags.empty()) tags.insert("serve");
  return tags;
}

void CheckPorts(const ServerOptions& options, ConfigReport* report) {
  for (const auto& [flag, port] :
       {std::pair("port", options.port), std::pair("rest_api_port", options.rest_api_port),
        std::pair("admin_port", options.admin_port)}) {
    if (port >= 0 && port <= std::numeric_limits<uint16_t>::max()) continue;
    report->Add({.key = flag},
                absl::InvalidArgumentError(absl::StrCat(
                    flag, " is ", port, "; ports are numbers from 1 to 65535, and 0 is none")));
  }
  for (const auto& [flag, port] :
       {std::pair("port", options.port), std::pair("rest_api_port", options.rest_api_port)}) {
    if (options.admin_port == 0 || options.admin_port != port) continue;
    report->Add({.key = "admin_port"},
                absl::InvalidArgumentError(absl::StrCat("admin_port is that of ", flag, ", ", port,
                                                        "; give each a port of its own")));
  }
  if (options.port == 0 && options.grpc_socket_path.empty()) {
    report->Add({.key = "port"},
                absl::InvalidArgumentError("nothing to listen on: --port is 0 and "
                                           "--grpc_socket_path is empty; set one of them"));
  }
}

void WarnOfOptionsWithoutEffect(const ServerOptions& options, ConfigReport* report) {
  auto tell = [report](bool is_set, const std::string& flag, absl::string_view what) {
    if (!is_set) return;
    report->Warn({.key = flag}, absl::StrCat("--", flag, " has no effect: ", what));
  };
  tell(options.prefer_tflite_model, "prefer_tflite_model", "the SavedModel is served");
  tell(options.xla_cpu_compilation_enabled, "xla_cpu_compilation_enabled",
       "graphs run on Tessera's own runtime");
  tell(options.xla_gpu_compilation_enabled, "xla_gpu_compilation_enabled",
       "graphs run on Tessera's own runtime");
  tell(!options.mixed_precision.empty(), "mixed_precision", "graphs run in the types they have");
  tell(!options.thread_pool_factory_config_file.empty(), "thread_pool_factory_config_file",
       "all models share the server's thread pools");
  tell(options.per_process_gpu_memory_fraction > 0 && !IsBuiltForGpus(),
       "per_process_gpu_memory_fraction", "models run on the CPU");
}

}  // namespace

absl::StatusOr<ModelSettings> ReadModelsAgain(const ServerOptions& options) {
  if (!options.model_config_file.empty()) {
    ModelSettings settings;
    TextProtoError error;
    absl::Status status = ReadTextProto(options.model_config_file, &settings.models, &error);
    if (status.ok()) return settings;
    if (error.line == 0) return status;
    return absl::InvalidArgumentError(absl::StrCat(status.message(), ", line ", error.line,
                                                   ", column ", error.column, ": ", error.message));
  }
  if (!options.models) {
    return absl::FailedPreconditionError(
        "the models come from flags, which do not change; name them in a file by "
        "--model_config_file or --config");
  }
  ServerOptions now;
  RETURN_IF_ERROR(ReadConfigFile(options.config, &now));
  if (now.models) {
    return ModelSettings{*std::move(now.models), std::move(now.rollouts), std::move(now.limits)};
  }
  return absl::FailedPreconditionError(
      absl::StrCat(options.config, " has no models any more; an empty list unloads all"));
}

ServerSettings ReadSettings(const ServerOptions& options, ConfigReport* report) {
  CheckPorts(options, report);
  if (options.file_system_poll_wait_seconds < 0) {
    report->Add({.key = "file_system_poll_wait_seconds"},
                absl::InvalidArgumentError(
                    "file_system_poll_wait_seconds is negative: no model would ever be found; use "
                    "0 to look once, or more to look every so many seconds"));
  }
  if (!options.thread_pool_factory_config_file.empty()) {
    report->Add({.key = "thread_pool_factory_config_file"},
                ReadFile(options.thread_pool_factory_config_file).status());
  }
  ServerSettings settings;
  settings.log_level = ReadLogLevel(options, report);
  settings.models = ReadModels(options, report);
  ReadModelBlocks(options, &settings);
  settings.batching = ReadBatching(options, report);
  settings.access = ReadAccessSettings(options, report);
  report->Take({.key = "grpc_channel_arguments"},
               ParseChannelArguments(options.grpc_channel_arguments), &settings.channel_arguments);
  settings.session = ReadSessionOptions(options, report);
  ReadLoading(options, &settings, report);
  settings.request_log = ReadRequestLog(options, report);
  settings.saved_model_tags = ReadTags(options.saved_model_tags);
  if (!options.monitoring_config_file.empty()) {
    ReadTextProtoOfFlag("monitoring_config_file", options.monitoring_config_file,
                        &settings.monitoring.emplace(), report);
  } else {
    settings.monitoring = options.monitoring;
  }
  WarnOfOptionsWithoutEffect(options, report);
  return settings;
}

absl::StatusOr<ServerSettings> ReadSettings(const ServerOptions& options) {
  ConfigReport report;
  ServerSettings settings = ReadSettings(options, &report);
  report.Log();
  RETURN_IF_ERROR(report.FirstError());
  return settings;
}

}  // namespace tessera::serving
