// The YAML file of --config. Exceptions of yaml-cpp do not leave this file.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "serving/rollout/rollout_config.h"
#include "serving/servables/traffic_router.h"
#include "serving/server/server_options.h"
#include "serving/server/yaml_proto.h"

namespace tessera::serving {
namespace {

constexpr char kModels[] = "models";
constexpr char kBatching[] = "batching";
constexpr char kMode[] = "mode";
constexpr char kRollout[] = "rollout";
constexpr char kMonitoring[] = "monitoring";
constexpr char kSsl[] = "ssl";

// Returns the node that a path of fields leads to, "steps[1].share_percent", or the last one on the
// way that is there.
YAML::Node Descend(YAML::Node node, absl::string_view field) {
  for (absl::string_view part : absl::StrSplit(field, absl::ByAnyChar(".[]"), absl::SkipEmpty())) {
    const YAML::Node& parent = node;
    size_t index;
    const bool is_index = parent.IsSequence() && absl::SimpleAtoi(part, &index);
    const YAML::Node child = is_index ? parent[index] : parent[std::string(part)];
    if (!child) break;
    node.reset(child);
  }
  return node;
}

// Checks what a model with a rollout leaves to it.
absl::Status CheckModelOfRollout(const std::string& path, const YAML::Node& node,
                                 const tensorflow::serving::ModelConfig& model) {
  const auto& policy = model.model_version_policy();
  if (policy.has_all() || policy.has_specific() || policy.latest().num_versions() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(YamlPlace(path, node["model_version_policy"]), ": model '", model.name(),
                     "' has a rollout, which chooses the versions to load: the stable one, the "
                     "candidate and the previous one. Remove model_version_policy or rollout"));
  }
  for (const absl::string_view label : {kStableLabel, kCanaryLabel}) {
    if (!model.version_labels().contains(std::string(label))) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        YamlPlace(path, node["version_labels"][std::string(label)]), ": the label '", label,
        "' of model '", model.name(), "' follows its rollout; give the version another label"));
  }
  return absl::OkStatus();
}

absl::Status ReadRollout(const std::string& path, const std::string& context,
                         const YAML::Node& node, RolloutConfig* config) {
  // `rollout:` alone has all defaults.
  if (node.IsNull()) return absl::OkStatus();
  RETURN_IF_ERROR(YamlToProto(path, context, node, config));
  const std::optional<RolloutConfigError> error = CheckRolloutConfig(*config);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(YamlPlace(path, Descend(node, error->field)), ": ",
                                                 context, ".", error->field, " ", error->message));
}

absl::Status ReadModel(const std::string& path, const std::string& context, const YAML::Node& node,
                       tensorflow::serving::ModelConfig* model, ServerOptions* options) {
  RETURN_IF_ERROR(YamlToProto(path, context, node, model, {kRollout}));
  if (model->model_platform().empty()) model->set_model_platform("tensorflow");
  if (!node[kRollout]) return absl::OkStatus();
  RETURN_IF_ERROR(ReadRollout(path, absl::StrCat(context, ".", kRollout), node[kRollout],
                              &options->rollouts[model->name()]));
  return CheckModelOfRollout(path, node, *model);
}

absl::Status ReadModels(const std::string& path, const YAML::Node& node, ServerOptions* options) {
  if (!node.IsSequence()) {
    return absl::InvalidArgumentError(
        absl::StrCat(YamlPlace(path, node), ": models must be a list"));
  }
  auto* list = options->models.emplace().mutable_model_config_list();
  for (size_t i = 0; i < node.size(); ++i) {
    RETURN_IF_ERROR(
        ReadModel(path, absl::StrCat(kModels, "[", i, "]"), node[i], list->add_config(), options));
  }
  return absl::OkStatus();
}

absl::Status ReadBatching(const std::string& path, const YAML::Node& node, ServerOptions* options) {
  options->enable_batching = true;
  RETURN_IF_ERROR(YamlToProto(path, kBatching, node, &options->batching.emplace(), {kMode}));
  const YAML::Node mode = node[kMode];
  if (!mode) return absl::OkStatus();
  if (!mode.IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat(YamlPlace(path, mode), ": batching.mode must be a single value"));
  }
  options->batching_mode = mode.Scalar();
  return absl::OkStatus();
}

absl::Status ReadKey(const std::string& path, const YAML::Node& key, const YAML::Node& value,
                     FlagParser& flags, ServerOptions* options) {
  const std::string name = key.Scalar();
  if (name == kModels) return ReadModels(path, value, options);
  if (name == kBatching) {
    return ReadBatching(path, value, options);
  }
  if (name == kMonitoring) return YamlToProto(path, name, value, &options->monitoring.emplace());
  if (name == kSsl) return YamlToProto(path, name, value, &options->ssl.emplace());

  std::vector<std::string> known = flags.names();
  // These flags make sense on the command line only.
  for (const char* name_of_command_line : {"config", "version"}) {
    known.erase(std::remove(known.begin(), known.end(), name_of_command_line), known.end());
  }
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    known.insert(known.end(), {kModels, kBatching, kMonitoring, kSsl});
    return UnknownYamlKey(path, key, "the server's configuration", known);
  }
  if (!value.IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat(YamlPlace(path, value), ": ", name, " must be a single value"));
  }
  const absl::Status status = flags.Set(name, value.Scalar());
  if (status.ok()) return status;
  return Annotate(status, absl::StrCat(YamlPlace(path, value), ": "));
}

absl::Status ReadDocument(const std::string& path, const std::string& text,
                          ServerOptions* options) {
  const YAML::Node root = YAML::Load(text);
  if (root.IsNull()) return absl::OkStatus();
  if (!root.IsMap()) {
    return absl::InvalidArgumentError(
        absl::StrCat(YamlPlace(path, root), ": the file must be a mapping of keys"));
  }
  FlagParser flags = options->Flags();
  std::set<std::string> seen;
  for (const auto& item : root) {
    if (!seen.insert(item.first.Scalar()).second) {
      return absl::InvalidArgumentError(absl::StrCat(YamlPlace(path, item.first), ": key '",
                                                     item.first.Scalar(), "' stands twice"));
    }
    RETURN_IF_ERROR(ReadKey(path, item.first, item.second, flags, options));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadConfigFile(const std::string& path, ServerOptions* options) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  try {
    return ReadDocument(path, text, options);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", error.mark.line + 1, ": no YAML: ", error.msg));
  }
}

}  // namespace tessera::serving
