// The YAML file of --config. Exceptions of yaml-cpp do not leave this file.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "serving/server/server_options.h"
#include "serving/server/yaml_proto.h"

namespace tessera::serving {
namespace {

constexpr char kModels[] = "models";
constexpr char kBatching[] = "batching";
constexpr char kMode[] = "mode";
constexpr char kMonitoring[] = "monitoring";
constexpr char kSsl[] = "ssl";

absl::Status ReadModels(const std::string& path, const YAML::Node& node, ServerOptions* options) {
  if (!node.IsSequence()) {
    return absl::InvalidArgumentError(
        absl::StrCat(YamlPlace(path, node), ": models must be a list"));
  }
  auto* list = options->models.emplace().mutable_model_config_list();
  for (size_t i = 0; i < node.size(); ++i) {
    auto* model = list->add_config();
    RETURN_IF_ERROR(YamlToProto(path, absl::StrCat(kModels, "[", i, "]"), node[i], model));
    if (model->model_platform().empty()) model->set_model_platform("tensorflow");
  }
  return absl::OkStatus();
}

absl::Status ReadBatching(const std::string& path, YAML::Node node, ServerOptions* options) {
  options->enable_batching = true;
  // The only key that is not a field of BatchingParameters.
  if (node.IsMap() && node[kMode]) {
    const YAML::Node mode = node[kMode];
    if (!mode.IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat(YamlPlace(path, mode), ": batching.mode must be a single value"));
    }
    options->batching_mode = mode.Scalar();
    node.remove(kMode);
  }
  return YamlToProto(path, kBatching, node, &options->batching.emplace());
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
