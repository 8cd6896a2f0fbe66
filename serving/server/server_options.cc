#include "serving/server/server_options.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "runtime/base/cpu_count.h"

namespace tessera::serving {
namespace {

// Returns the last value of --config, which is needed before all other flags.
std::string ConfigPath(absl::Span<const std::string> args) {
  constexpr absl::string_view kPrefix = "--config=";
  std::string path;
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (absl::StartsWith(arg, kPrefix)) path = arg.substr(kPrefix.size());
  }
  return path;
}

void AddListeningFlags(ServerOptions& o, FlagParser& flags) {
  flags.BeginGroup("Protocols");
  flags.Add("port", &o.port, "TCP port to listen on for gRPC; 0: no TCP");
  flags.Add("grpc_socket_path", &o.grpc_socket_path,
            "Unix socket to listen on for gRPC as well; empty: none");
  flags.Add("grpc_channel_arguments", &o.grpc_channel_arguments,
            "comma-separated name=value pairs for gRPC's server (grpc.max_connection_age_ms=2000)");
  flags.Add("grpc_max_threads", &o.grpc_max_threads,
            "requests that run at once, beside those quick enough for gRPC's own threads");
  flags.Add("enable_grpc_healthcheck_service", &o.enable_grpc_healthcheck_service,
            "serve grpc.health.v1.Health");
  flags.Add("ssl_config_file", &o.ssl_config_file,
            "text proto SSLConfig with the PEM texts for gRPC; empty: no encryption");
  flags.Add("use_alts_credentials", &o.use_alts_credentials, "use Google ALTS for gRPC");
  flags.Add("rest_api_port", &o.rest_api_port, "TCP port to listen on for REST; 0: no REST");
  flags.Add("rest_api_num_threads", &o.rest_api_num_threads, "threads that answer REST requests");
  flags.Add("rest_api_timeout_in_ms", &o.rest_api_timeout_in_ms,
            "limit on the run of a REST request; 0 or less: none");
  flags.Add("rest_api_enable_cors_support", &o.rest_api_enable_cors_support,
            "add cross-origin headers to REST replies");
  flags.Add("monitoring_config_file", &o.monitoring_config_file,
            "text proto MonitoringConfig: whether and where REST shows metrics");
  flags.BeginGroup("Protocols, beyond tensorflow_model_server", /*is_extension=*/true);
  flags.Add("ssl_certificate_file", &o.ssl_certificate_file,
            "PEM file with the server's certificate, and those that lead from it to its authority, "
            "for TLS on gRPC; read again when it changes");
  flags.Add("ssl_key_file", &o.ssl_key_file, "PEM file with the key of ssl_certificate_file");
  flags.Add("ssl_client_ca_file", &o.ssl_client_ca_file,
            "PEM file with authorities; clients must show a certificate of one of them");
  flags.Add("rest_api_ssl", &o.rest_api_ssl, "use TLS on REST, too, with the same certificates");
  flags.Add("token_file", &o.token_file,
            "file with a secret token a line, and the time when it expires if it does, one of "
            "which each request by gRPC and REST must have, probes aside; read again when it "
            "changes");
  flags.Add("enable_model_control", &o.enable_model_control,
            "let clients of KServe's protocol load and unload the configured models");
  flags.Add("admin_port", &o.admin_port,
            "TCP port of the admin address, which steers rollouts, over gRPC and REST; 0: none");
  flags.Add("admin_address", &o.admin_address,
            "IP address to listen on for admin_port; other than loopback needs admin_token_file");
  flags.Add("enable_dashboard", &o.enable_dashboard,
            "show the dashboard on the REST port, too, where it can change nothing");
  flags.Add("admin_ssl", &o.admin_ssl,
            "use TLS on the admin address, too, with the same certificates");
  flags.Add("admin_token_file", &o.admin_token_file,
            "file with a secret token a line, and the time when it expires if it does, one of "
            "which each request to the admin address must have; read again whenever it changes");
}

void AddModelFlags(ServerOptions& o, FlagParser& flags) {
  flags.BeginGroup("Models");
  flags.Add("model_config_file", &o.model_config_file,
            "text proto ModelServerConfig with the models to serve; model_name and "
            "model_base_path then do not count");
  flags.Add("model_config_file_poll_wait_seconds", &o.model_config_file_poll_wait_seconds,
            "interval at which the models of model_config_file or config are read again; 0: never");
  flags.Add("model_name", &o.model_name, "name of the one model to serve");
  flags.Add("model_base_path", &o.model_base_path, "directory of the versions of the one model");
  flags.Add("file_system_poll_wait_seconds", &o.file_system_poll_wait_seconds,
            "interval at which base paths are looked at for versions; 0: once");
  flags.Add("allow_version_labels_for_unavailable_models",
            &o.allow_version_labels_for_unavailable_models,
            "let new version labels point to versions that are not available");
}

void AddLoadingFlags(ServerOptions& o, FlagParser& flags) {
  flags.BeginGroup("Loading");
  flags.Add("num_load_threads", &o.num_load_threads,
            "threads that load versions; 0: one version of a model at a time");
  flags.Add("num_unload_threads", &o.num_unload_threads, "threads that unload versions");
  flags.Add("max_num_load_retries", &o.max_num_load_retries, "further tries after a failed load");
  flags.Add("load_retry_interval_micros", &o.load_retry_interval_micros,
            "longest pause before a further try, in microseconds; the first is a sixteenth of it");
  flags.Add("flush_filesystem_caches", &o.flush_filesystem_caches,
            "accepted and not needed: weights are mapped from their files, which drops nothing");
  flags.Add("saved_model_tags", &o.saved_model_tags,
            "comma-separated tags of the meta graph to load from a SavedModel");
  flags.Add("enable_model_warmup", &o.enable_model_warmup,
            "before a version serves, run the requests in assets.extra/tf_serving_warmup_requests; "
            "without that file, some that the version before was asked, or made up ones");
  flags.Add("num_request_iterations_for_warmup", &o.num_request_iterations_for_warmup,
            "times that each warm-up request runs; 0 or less: once");
  flags.Add("prefer_tflite_model", &o.prefer_tflite_model,
            "accepted; the SavedModel is served all the same");
  flags.Add("num_tflite_pools", &o.num_tflite_pools, "accepted and not used");
  flags.Add("num_tflite_interpreters_per_pool", &o.num_tflite_interpreters_per_pool,
            "accepted and not used");
  flags.Add("remove_unused_fields_from_bundle_metagraph",
            &o.remove_unused_fields_from_bundle_metagraph,
            "accepted and not needed: only signatures are kept of a meta graph");
  flags.BeginGroup("Loading, beyond tensorflow_model_server", /*is_extension=*/true);
  flags.Add("memory_limit", &o.memory_limit,
            "what all loaded versions may take together, by the sizes of their files, such as "
            "6GiB; a version beyond that is refused; empty: no limit");
  flags.Add("load_priority", &o.load_priority,
            "how loading makes way for requests: low (10 nice levels), idle (SCHED_IDLE: it takes "
            "minutes where other work keeps all cores busy), or none, for comparison: at the "
            "priority and in the thread pools of requests");
  flags.Add("rollout_state_file", &o.rollout_state_file,
            "where rollouts are kept over a restart; empty: the file of config with "
            ".rollout-state appended");
  flags.Add(
      "load_cpu_share", &o.load_cpu_share,
      "share of the cores, above 0 and up to 1, that all loads together may use from the first "
      "request on");
  flags.Add("version_settle_seconds", &o.version_settle_seconds,
            "a new version is taken once nothing in its folder has changed for so long; at once if "
            "it was renamed into place; 0: always at once");
  flags.Add("version_marker_file", &o.version_marker_file,
            "a new version is taken once its folder holds a file of this name; empty: see "
            "version_settle_seconds");
}

void AddRunFlags(ServerOptions& o, FlagParser& flags) {
  flags.BeginGroup("Running");
  flags.Add("enable_batching", &o.enable_batching, "run several requests at once as one batch");
  flags.Add("batching_parameters_file", &o.batching_parameters_file,
            "text proto BatchingParameters; needs enable_batching");
  flags.Add("enable_per_model_batching_parameters", &o.enable_per_model_batching_parameters,
            "take each version's batching parameters from its batching_params.pbtxt");
  flags.Add("enable_signature_method_name_check", &o.enable_signature_method_name_check,
            "refuse signatures whose method name is not that of the call");
  flags.Add("enable_serialization_as_tensor_content", &o.enable_serialization_as_tensor_content,
            "write outputs of Predict as raw bytes instead of typed fields");
  flags.Add("tensorflow_session_parallelism", &o.tensorflow_session_parallelism,
            "threads within an op and threads across ops; 0: one a core");
  flags.Add("tensorflow_intra_op_parallelism", &o.tensorflow_intra_op_parallelism,
            "threads within an op; 0: one a core");
  flags.Add("tensorflow_inter_op_parallelism", &o.tensorflow_inter_op_parallelism,
            "threads across ops; 0: one a core");
  flags.Add("tensorflow_session_config_file", &o.tensorflow_session_config_file,
            "text proto ConfigProto for sessions; parallelism comes from the flags all the same");
  flags.Add("platform_config_file", &o.platform_config_file,
            "text proto PlatformConfigMap that takes the place of the flags of batching, sessions, "
            "tags and warm-up");
  flags.Add("per_process_gpu_memory_fraction", &o.per_process_gpu_memory_fraction,
            "share of a GPU's memory to take; has no effect on CPUs");
  flags.Add("xla_cpu_compilation_enabled", &o.xla_cpu_compilation_enabled, "accepted and not used");
  flags.Add("xla_gpu_compilation_enabled", &o.xla_gpu_compilation_enabled, "accepted and not used");
  flags.Add("enable_profiler", &o.enable_profiler,
            "let clients of the gRPC port record traces, as TensorBoard and `tessera profile` do");
  flags.Add("thread_pool_factory_config_file", &o.thread_pool_factory_config_file,
            "accepted and not used");
  flags.Add("mixed_precision", &o.mixed_precision, "accepted and not used");
  flags.Add("skip_initialize_tpu", &o.skip_initialize_tpu, "accepted and not used");
  flags.BeginGroup("Running, beyond tensorflow_model_server", /*is_extension=*/true);
  flags.Add(
      "batching_mode", &o.batching_mode,
      "upstream (the default): batches wait for their timeout; adaptive: nobody waits while a "
      "core is free, batches form of what waits for one; measured: for GPUs, who comes during a "
      "run "
      "waits for its end where one run of many rows costs little more; needs enable_batching");
  flags.Add("disable_pass", &o.disable_pass,
            "comma-separated graph passes to leave out, such as freeze_variables");
  flags.Add(
      "numerics", &o.numerics,
      "fast, or strict: a row of a product has the same bits whatever its batch, its neighbours "
      "and the threads");
  flags.Add("op_library", &o.op_library,
            "comma-separated shared libraries with custom ops and kernels to load first");
}

}  // namespace

ServerOptions::ServerOptions()
    : grpc_max_threads(4 * AvailableCores()),
      rest_api_num_threads(4 * AvailableCores()),
      num_tflite_pools(AvailableCores()) {}

std::string RolloutStateFile(const ServerOptions& options) {
  return options.rollout_state_file.empty() ? options.config + ".rollout-state"
                                            : options.rollout_state_file;
}

bool IsForCommandLineOnly(absl::string_view flag) {
  constexpr absl::string_view kFlags[] = {"config", "version", "check_config", "print_config",
                                          "json"};
  return std::find(std::begin(kFlags), std::end(kFlags), flag) != std::end(kFlags);
}

FlagParser ServerOptions::Flags() {
  FlagParser flags;
  AddListeningFlags(*this, flags);
  AddModelFlags(*this, flags);
  AddLoadingFlags(*this, flags);
  AddRunFlags(*this, flags);
  flags.BeginGroup("The program");
  flags.Add("version", &version, "print the version and exit");
  flags.BeginGroup("The program, beyond tensorflow_model_server", /*is_extension=*/true);
  flags.Add("config", &config, "YAML file with any of these flags, models and more");
  flags.Add(
      "check_config", &check_config,
      "read the whole configuration, with all files and graphs that it names, print everything "
      "that is wrong with it, and exit: 0 without errors, 3 with some; no port is opened");
  flags.Add("print_config", &print_config,
            "print the configuration in effect as YAML for config, without keys, and exit");
  flags.Add("json", &json, "print what check_config finds as JSON");
  flags.Add("log_level", &log_level,
            "least severity of lines in the log: info, warning or error; empty: that of the "
            "environment variable TF_CPP_MIN_LOG_LEVEL, or info",
            "info|warning|error");
  flags.Add("access_log", &access_log,
            "file that gets a line of JSON for each request; -: standard output; empty: none; "
            "SIGHUP opens it again");
  flags.Add("request_log_file_size", &request_log_file_size,
            "size such as 64MiB at which a model's request log, see logging_config in its "
            "configuration, begins a new file");
  flags.Add("request_log_file_age_seconds", &request_log_file_age_seconds,
            "age at which a request log begins a new file");
  flags.Add("request_log_max_files", &request_log_max_files,
            "files of a model's request log that are kept, the newest; 0: all");
  flags.Add("shutdown_grace_seconds", &shutdown_grace_seconds,
            "how long SIGTERM lets requests under way finish");
  return flags;
}

void ParseServerOptions(absl::Span<const std::string> args, ServerOptions* options,
                        FlagParser* parser, ConfigReport* report) {
  const std::string path = ConfigPath(args);
  if (!path.empty()) ReadConfigFile(path, options, report);
  if (parser->Parse(args).ok()) return;
  for (const FlagParser::Error& error : parser->errors()) {
    report->Add({.key = error.flag}, error.status);
  }
}

}  // namespace tessera::serving
