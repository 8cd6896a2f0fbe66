#include "serving/server/flag_facts.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "serving/server/server_options.h"

namespace tessera::serving {
namespace {

// Values for examples of flags whose default is none.
absl::string_view ExampleValue(absl::string_view flag) {
  static const auto& values = *new std::map<absl::string_view, absl::string_view>{
      {"access_log", "/var/log/tessera/access.log"},
      {"admin_port", "8502"},
      {"admin_token_file", "/run/secrets/admin-tokens"},
      {"batching_mode", "adaptive"},
      {"batching_parameters_file", "/etc/tessera/batching.config"},
      {"config", "/etc/tessera.yaml"},
      {"disable_pass", "freeze_variables"},
      {"grpc_channel_arguments", "grpc.max_connection_age_ms=2000"},
      {"grpc_socket_path", "/run/tessera.sock"},
      {"memory_limit", "6GiB"},
      {"mixed_precision", "bfloat16"},
      {"model_base_path", "/models/resnet"},
      {"model_config_file", "/etc/tessera/models.config"},
      {"model_config_file_poll_wait_seconds", "60"},
      {"monitoring_config_file", "/etc/tessera/monitoring.config"},
      {"num_load_threads", "2"},
      {"num_unload_threads", "2"},
      {"op_library", "/opt/ops/libzero_out.so"},
      {"platform_config_file", "/etc/tessera/platform.config"},
      {"rest_api_port", "8501"},
      {"rollout_state_file", "/var/lib/tessera/rollouts"},
      {"ssl_certificate_file", "/etc/tessera/tls/tls.crt"},
      {"ssl_client_ca_file", "/etc/tessera/tls/ca.crt"},
      {"ssl_config_file", "/etc/tessera/ssl.config"},
      {"ssl_key_file", "/etc/tessera/tls/tls.key"},
      {"tensorflow_inter_op_parallelism", "4"},
      {"tensorflow_intra_op_parallelism", "4"},
      {"tensorflow_session_config_file", "/etc/tessera/session.config"},
      {"tensorflow_session_parallelism", "4"},
      {"thread_pool_factory_config_file", "/etc/tessera/pools.config"},
      {"token_file", "/run/secrets/tokens"},
      {"version_marker_file", "COMPLETE"},
  };
  const auto value = values.find(flag);
  return value == values.end() ? "" : value->second;
}

std::string Example(const FlagParser::Flag& flag) {
  if (flag.is_switch()) {
    return absl::StrCat("--", flag.name, flag.default_value == "true" ? "=false" : "");
  }
  std::string value(ExampleValue(flag.name));
  if (value.empty()) value = absl::StrReplaceAll(flag.default_value, {{"\"", ""}});
  if (value.empty()) value = flag.value_name.substr(0, flag.value_name.find('|'));
  if (value.empty()) value = "TEXT";
  return absl::StrCat("--", flag.name, "=", value);
}

std::string YamlKey(const FlagParser::Flag& flag) {
  static const auto& blocks = *new std::map<absl::string_view, absl::string_view>{
      {"model_config_file", "the models themselves under models"},
      {"batching_parameters_file", "its fields under batching"},
      {"batching_mode", "mode under batching"},
      {"monitoring_config_file", "its fields under monitoring"},
      {"ssl_config_file", "its fields under ssl"},
  };
  if (IsForCommandLineOnly(flag.name)) return "none: for the command line alone";
  const auto block = blocks.find(flag.name);
  return block == blocks.end() ? flag.name : absl::StrCat(flag.name, ", or ", block->second);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ServerFlagFacts(const FlagParser::Flag& flag) {
  return {{"example", Example(flag)},
          {"YAML key", YamlKey(flag)},
          {"tensorflow_model_server", flag.is_extension ? "has no such flag" : flag.name}};
}

}  // namespace tessera::serving
