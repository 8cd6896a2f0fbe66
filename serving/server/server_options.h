// ServerOptions: the options of `tessera serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "serving/admission/limits_config.h"
#include "serving/rollout/rollout_config.h"
#include "serving/server/config_report.h"
#include "serving/server/flag_parser.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow_serving/config/model_server_config.pb.h"
#include "tensorflow_serving/config/monitoring_config.pb.h"
#include "tensorflow_serving/config/ssl_config.pb.h"
#include "tensorflow_serving/servables/tensorflow/session_bundle_config.pb.h"

namespace tessera::serving {

// Each member has the name of its flag. The help of the flag, in server_options.cc, describes it.
// All flags of tensorflow_model_server are there, with their names, types and defaults.
struct ServerOptions {
  ServerOptions();

  // Addresses and protocols.
  int32_t port = 8500;
  std::string grpc_socket_path;
  std::string grpc_channel_arguments;
  int32_t grpc_max_threads;  // default: 4 for each core
  bool enable_grpc_healthcheck_service = false;
  std::string ssl_config_file;
  bool use_alts_credentials = false;
  int32_t rest_api_port = 0;
  int32_t rest_api_num_threads;  // default: 4 for each core
  int32_t rest_api_timeout_in_ms = 30000;
  bool rest_api_enable_cors_support = false;
  std::string monitoring_config_file;
  // These are not in tensorflow_model_server.
  std::string ssl_certificate_file;
  std::string ssl_key_file;
  std::string ssl_client_ca_file;
  bool rest_api_ssl = false;
  bool admin_ssl = false;
  std::string token_file;
  int32_t admin_port = 0;
  std::string admin_address = "127.0.0.1";
  std::string admin_token_file;
  bool enable_model_control = false;
  bool enable_dashboard = false;

  // The models to serve.
  std::string model_config_file;
  int32_t model_config_file_poll_wait_seconds = 0;
  std::string model_name = "default";
  std::string model_base_path;
  int32_t file_system_poll_wait_seconds = 1;
  bool allow_version_labels_for_unavailable_models = false;

  // How models are loaded.
  int32_t num_load_threads = 0;
  int32_t num_unload_threads = 0;
  int32_t max_num_load_retries = 5;
  int64_t load_retry_interval_micros = 60 * 1000 * 1000;
  bool flush_filesystem_caches = true;
  // These are not in tensorflow_model_server.
  std::string memory_limit;
  std::string load_priority = "low";
  float load_cpu_share = 0.5;
  int32_t version_settle_seconds = 2;
  std::string version_marker_file;
  std::string rollout_state_file;

  std::string saved_model_tags = "serve";
  bool enable_model_warmup = true;
  int32_t num_request_iterations_for_warmup = 0;
  bool prefer_tflite_model = false;
  int32_t num_tflite_pools;  // default: 1 for each core
  int32_t num_tflite_interpreters_per_pool = 1;
  bool remove_unused_fields_from_bundle_metagraph = true;

  // How models run.
  bool enable_batching = false;
  std::string batching_parameters_file;
  bool enable_per_model_batching_parameters = false;
  std::string batching_mode;  // not in tensorflow_model_server
  bool enable_signature_method_name_check = false;
  bool enable_serialization_as_tensor_content = false;
  int64_t tensorflow_session_parallelism = 0;
  int64_t tensorflow_intra_op_parallelism = 0;
  int64_t tensorflow_inter_op_parallelism = 0;
  std::string tensorflow_session_config_file;
  std::string platform_config_file;
  float per_process_gpu_memory_fraction = 0;
  bool xla_cpu_compilation_enabled = false;
  bool xla_gpu_compilation_enabled = false;
  bool enable_profiler = true;
  std::string thread_pool_factory_config_file;
  std::string mixed_precision;
  bool skip_initialize_tpu = false;

  // These are not in tensorflow_model_server.
  std::string config;  // a YAML file, see ReadConfigFile()
  std::string disable_pass;
  std::string numerics = "fast";
  std::string op_library;
  std::string log_level;
  std::string access_log;
  std::string request_log_file_size = "64MiB";
  int32_t request_log_file_age_seconds = 3600;
  int32_t request_log_max_files = 24;
  int32_t shutdown_grace_seconds = 10;
  bool version = false;
  bool check_config = false;
  bool print_config = false;
  bool json = false;

  // The settings from the YAML file. Each replaces the text proto file of its flag.
  std::optional<tensorflow::serving::ModelServerConfig> models;
  // The blocks `rollout` of these models, by their names. No flag names a file of them.
  RolloutConfigs rollouts;
  // Likewise the blocks `limits`.
  LimitsConfigs limits;
  std::optional<tensorflow::serving::BatchingParameters> batching;
  std::optional<tensorflow::serving::MonitoringConfig> monitoring;
  std::optional<tensorflow::serving::SSLConfig> ssl;
  // The session options from the platform configuration. They replace
  // tensorflow_session_config_file.
  std::optional<tensorflow::ConfigProto> session_config;

  // Adds the flags to a parser. They write into this object, which must outlive the parser.
  FlagParser Flags();
};

// Returns where rollouts are kept over a restart: rollout_state_file, or else a file beside
// `config`.
std::string RolloutStateFile(const ServerOptions& options);

// Whether a flag makes sense on the command line alone, and is no key of the YAML file.
bool IsForCommandLineOnly(absl::string_view flag);

// Reads a YAML file into `options`. Its keys are the names of flags, and `models`, `batching`,
// `monitoring` and `ssl`, which have the fields of the text protos that flags name files of:
//
//   rest_api_port: 8501
//   models:
//     - name: resnet
//       base_path: /models/resnet
//       model_version_policy: {latest: {num_versions: 2}}
//       version_labels: {stable: 3}
//
// The default of a model's model_platform is "tensorflow". A model may have the blocks `rollout`
// and `limits`, with the fields of RolloutConfig and LimitsConfig. `batching` turns batching on;
// its key `mode` has the value of the flag batching_mode. Merge keys (`<<: *base`) are resolved.
// Errors: NOT_FOUND if there is no such file; INVALID_ARGUMENT "FILE:LINE: ..." if the file is no
// YAML, for unknown keys, naming the nearest known one, and for values that do not fit.
absl::Status ReadConfigFile(const std::string& path, ServerOptions* options);
// Does the same, adds all errors to a report, and reads on after each.
void ReadConfigFile(const std::string& path, ServerOptions* options, ConfigReport* report);

// Returns the line of a key in a YAML file, counted from 1. A key is a path, such as
// "models[0].base_path"; the line of the last part that is there counts. 0 if there is none.
int LineOfKey(const std::string& path, absl::string_view key);

// Reads options from a command line without the program's name. Flags override the file of
// --config. Adds the errors of ReadConfigFile() and FlagParser::Parse() to a report.
void ParseServerOptions(absl::Span<const std::string> args, ServerOptions* options,
                        FlagParser* parser, ConfigReport* report);

}  // namespace tessera::serving
