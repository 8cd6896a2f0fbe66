#include "serving/server/platform_config.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "serving/server/text_proto_file.h"
#include "serving/server/unused_fields.h"
#include "tensorflow_serving/config/platform_config.pb.h"
#include "tensorflow_serving/servables/tensorflow/saved_model_bundle_source_adapter.pb.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::SessionBundleConfig;

constexpr char kPlatform[] = "tensorflow";

constexpr char kFlag[] = "platform_config_file";

void CheckSupported(const std::string& path, const SessionBundleConfig& config,
                    ConfigReport* report) {
  if (!config.session_target().empty()) {
    report->Add({path, 0, "session_target"},
                absl::UnimplementedError(
                    absl::StrCat(path, ": session_target is '", config.session_target(),
                                 "', but models run in the server's own process; leave it out")));
  }
  if (!config.experimental_fixed_input_tensors().empty()) {
    report->Add({path, 0, "experimental_fixed_input_tensors"},
                absl::UnimplementedError(
                    absl::StrCat(path,
                                 ": experimental_fixed_input_tensors are not supported; give the "
                                 "signature's inputs default values instead")));
  }
}

// The fields that are read here, and those of session_config that ReadSettings() tells of.
const std::set<std::string>& UsedFields() {
  static const auto& used = *new std::set<std::string>{
      "session_config",
      "batching_parameters",
      "saved_model_tags",
      "enable_model_warmup",
      "model_warmup_options.num_request_iterations",
      "prefer_tflite_model",
      "enable_per_model_batching_params",
      // These ask for what is so anyway.
      "enable_session_metadata",
      "remove_unused_fields_from_bundle_metagraph",
  };
  return used;
}

absl::StatusOr<SessionBundleConfig> FindSessionBundleConfig(
    const std::string& path, const tensorflow::serving::PlatformConfigMap& map) {
  for (const auto& [platform, config] : map.platform_configs()) {
    if (platform != kPlatform) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": there is no platform '", platform, "', only '", kPlatform, "'"));
    }
  }
  auto it = map.platform_configs().find(kPlatform);
  if (it == map.platform_configs().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " says nothing of the platform '", kPlatform, "'"));
  }
  tensorflow::serving::SavedModelBundleSourceAdapterConfig adapter;
  const google::protobuf::Any& any = it->second.source_adapter_config();
  if (!any.UnpackTo(&adapter)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": source_adapter_config of '", kPlatform,
                                                   "' holds '", any.type_url(), "', not a ",
                                                   adapter.GetTypeName()));
  }
  return adapter.legacy_config();
}

}  // namespace

void ApplyPlatformConfig(ServerOptions* options, ConfigReport* report) {
  if (options->platform_config_file.empty()) return;
  const std::string& path = options->platform_config_file;
  tensorflow::serving::PlatformConfigMap map;
  if (!ReadTextProtoOfFlag(kFlag, path, &map, report)) return;
  SessionBundleConfig config;
  report->Take({path, 0, kFlag}, FindSessionBundleConfig(path, map), &config);
  CheckSupported(path, config, report);
  report->Warn({path}, UnusedFieldsWarning(path, config, UsedFields()));

  options->enable_batching = config.has_batching_parameters();
  options->batching.reset();
  if (config.has_batching_parameters()) options->batching = config.batching_parameters();
  options->batching_parameters_file.clear();
  options->enable_per_model_batching_parameters = config.enable_per_model_batching_params();

  options->session_config = config.session_config();
  options->tensorflow_session_config_file.clear();
  options->tensorflow_session_parallelism = 0;
  options->tensorflow_intra_op_parallelism = config.session_config().intra_op_parallelism_threads();
  options->tensorflow_inter_op_parallelism = config.session_config().inter_op_parallelism_threads();

  options->saved_model_tags = absl::StrJoin(config.saved_model_tags(), ",");
  options->enable_model_warmup = config.enable_model_warmup();
  options->num_request_iterations_for_warmup =
      config.model_warmup_options().num_request_iterations().value();
  options->prefer_tflite_model = config.prefer_tflite_model();
}

}  // namespace tessera::serving
