// The YAML file of --config. Exceptions of yaml-cpp do not leave this file.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "serving/admission/limits_config.h"
#include "serving/rollout/rollout_config.h"
#include "serving/servables/traffic_router.h"
#include "serving/server/server_options.h"
#include "serving/server/yaml_merge.h"
#include "serving/server/yaml_proto.h"

namespace tessera::serving {
namespace {

constexpr char kModels[] = "models";
constexpr char kModelConfigFile[] = "model_config_file";
constexpr char kBatching[] = "batching";
constexpr char kMode[] = "mode";
constexpr char kRollout[] = "rollout";
constexpr char kLimits[] = "limits";
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

// Reads one file.
class ConfigFileReader {
 public:
  ConfigFileReader(const std::string& path, ServerOptions* options, ConfigReport* report)
      : path_(path), options_(options), report_(report), flags_(options->Flags()) {}

  void Read(const std::string& text) {
    const YAML::Node root = OnlyDocument(path_, YAML::LoadAll(text), report_);
    ResolveYamlMerges(path_, root, report_);
    if (root.IsNull()) return;
    if (!root.IsMap()) return Error(root, "", "the file must be a mapping of keys");
    for (const auto& item : root) keys_.insert(item.first.Scalar());
    std::set<std::string> seen;
    for (const auto& item : root) {
      const std::string key = item.first.Scalar();
      if (seen.insert(key).second) {
        ReadKey(item.first, item.second);
      } else {
        Error(item.first, key, absl::StrCat("key '", key, "' stands twice"));
      }
    }
  }

 private:
  void ReadKey(const YAML::Node& key, const YAML::Node& value) {
    const std::string name = key.Scalar();
    const bool is_block =
        name == kModels || name == kBatching || name == kMonitoring || name == kSsl;
    const auto refuse_missing = [&] { Error(key, name, name + " has no value"); };
    if (is_block && value.IsNull()) return refuse_missing();
    if (name == kModels) return ReadModels(value);
    if (name == kBatching) return ReadBatching(value);
    if (name == kMonitoring) return ReadProto(name, value, &options_->monitoring.emplace());
    if (name == kSsl) return ReadProto(name, value, &options_->ssl.emplace());
    if (name == kModelConfigFile && keys_.contains(kModels)) {
      constexpr absl::string_view kTwice = " both name the models; remove one";
      return Error(key, name, absl::StrCat(kModelConfigFile, " and ", kModels, kTwice));
    }

    std::vector<std::string> known = flags_.names();
    known.erase(std::remove_if(known.begin(), known.end(), IsForCommandLineOnly), known.end());
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      known.insert(known.end(), {kModels, kBatching, kMonitoring, kSsl});
      return AddUnknownYamlKey(path_, key, "the server's configuration", known, report_);
    }
    if (value.IsNull()) return refuse_missing();
    if (!value.IsScalar()) return Error(value, name, name + " must be a single value");
    const absl::Status status = flags_.Set(name, value.Scalar());
    if (!status.ok()) Error(value, name, status.message());
  }

  void ReadModels(const YAML::Node& node) {
    auto* list = options_->models.emplace().mutable_model_config_list();
    if (!node.IsSequence()) return Error(node, kModels, "models must be a list");
    for (size_t i = 0; i < node.size(); ++i) {
      ReadModel(absl::StrCat(kModels, "[", i, "]"), node[i], list->add_config());
    }
  }

  void ReadModel(const std::string& context, const YAML::Node& node,
                 tensorflow::serving::ModelConfig* model) {
    ReadProto(context, node, model, {kRollout, kLimits});
    if (!node.IsMap()) return;
    // The older `model_type` says the same.
    if (model->model_platform().empty() && static_cast<int>(model->model_type()) == 0) {
      model->set_model_platform("tensorflow");
    }
    if (const YAML::Node limits = node[kLimits]; limits && HasValue(context, node, kLimits)) {
      ReadChecked(absl::StrCat(context, ".", kLimits), limits, CheckLimitsConfig,
                  &options_->limits[model->name()]);
    }
    const YAML::Node rollout = node[kRollout];
    if (!rollout) return;
    RolloutConfig& config = options_->rollouts[model->name()];
    // `rollout:` alone has all defaults.
    if (!rollout.IsNull()) {
      const std::string block = absl::StrCat(context, ".", kRollout);
      ReadChecked(block, rollout, CheckRolloutConfig, &config);
      CheckStepsOfRollout(block, rollout);
    }
    CheckModelOfRollout(context, node, *model);
  }

  // Reads a block, and tells its errors by `check`, which says which fields they are about. A block
  // with a value of another type is told of that alone.
  template <typename Config, typename Check>
  void ReadChecked(const std::string& context, const YAML::Node& node, Check check,
                   Config* config) {
    const size_t errors = report_->findings().size();
    ReadProto(context, node, config);
    if (report_->findings().size() > errors) return;
    for (const auto& error : check(*config)) {
      const std::string key = absl::StrCat(context, ".", error.field);
      Error(Descend(node, error.field), key, absl::StrCat(key, " ", error.message));
    }
  }

  // Adds an error at a key of a mapping, and returns false, if nothing stands behind it.
  bool HasValue(const std::string& context, const YAML::Node& mapping, const char* name) {
    for (const auto& item : mapping) {
      if (item.first.Scalar() != name || !item.second.IsNull()) continue;
      const std::string key = absl::StrCat(context, ".", name);
      Error(item.first, key, key + " has no value");
      return false;
    }
    return true;
  }

  // The message has no difference between no steps, which have defaults, and an empty list of them.
  void CheckStepsOfRollout(const std::string& context, const YAML::Node& rollout) {
    if (!rollout.IsMap()) return;
    const YAML::Node steps = rollout["steps"];
    if (!steps || !steps.IsSequence() || steps.size() > 0) return;
    Error(
        steps, context + ".steps",
        absl::StrCat(context, ".steps is empty; name a step, or leave steps out for the defaults"));
  }

  // Checks what a model with a rollout leaves to it.
  void CheckModelOfRollout(const std::string& context, const YAML::Node& node,
                           const tensorflow::serving::ModelConfig& model) {
    const auto& policy = model.model_version_policy();
    if (policy.has_all() || policy.has_specific() || policy.latest().num_versions() > 1) {
      Error(node["model_version_policy"], context + ".model_version_policy",
            absl::StrCat("model '", model.name(),
                         "' has a rollout, which chooses the versions to load: the stable one, the "
                         "candidate and the previous one. Remove model_version_policy or rollout"));
    }
    for (const absl::string_view name : {kStableLabel, kCanaryLabel}) {
      const std::string label(name);
      if (!model.version_labels().contains(label)) continue;
      Error(node["version_labels"][label], absl::StrCat(context, ".version_labels.", label),
            absl::StrCat("the label '", label, "' of model '", model.name(),
                         "' follows its rollout; give the version another label"));
    }
  }

  // What a key of its own says counts, wherever it stands.
  void ReadBatching(const YAML::Node& node) {
    if (!keys_.contains("enable_batching")) options_->enable_batching = true;
    ReadProto(kBatching, node, &options_->batching.emplace(), {kMode});
    if (!node.IsMap()) return;
    const YAML::Node mode = node[kMode];
    if (!mode || !HasValue(kBatching, node, kMode)) return;
    if (!mode.IsScalar()) {
      return Error(mode, "batching.mode", "batching.mode must be a single value");
    }
    if (!keys_.contains("batching_mode")) options_->batching_mode = mode.Scalar();
  }

  void ReadProto(const std::string& context, const YAML::Node& node,
                 google::protobuf::Message* message,
                 const std::vector<std::string>& other_keys = {}) {
    YamlToProto(path_, context, node, message, other_keys, report_);
  }
  void Error(const YAML::Node& node, std::string key, absl::string_view message) {
    AddYamlError(path_, node, std::move(key), message, report_);
  }

  const std::string& path_;
  ServerOptions* const options_;
  ConfigReport* const report_;
  FlagParser flags_;
  std::set<std::string> keys_;  // of the file
};

}  // namespace

void ReadConfigFile(const std::string& path, ServerOptions* options, ConfigReport* report) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return report->Add({path}, text.status());
  try {
    ConfigFileReader(path, options, report).Read(*text);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line + 1;
    report->Add({path, line}, absl::InvalidArgumentError(
                                  absl::StrCat(path, ":", line, ": no YAML: ", error.msg)));
  }
}

absl::Status ReadConfigFile(const std::string& path, ServerOptions* options) {
  ConfigReport report;
  ReadConfigFile(path, options, &report);
  return report.FirstError();
}

int LineOfKey(const std::string& path, absl::string_view key) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return 0;
  try {
    const YAML::Node root = YAML::Load(*text);
    ConfigReport ignored;
    ResolveYamlMerges(path, root, &ignored);
    const YAML::Node node = Descend(root, key);
    return node.is(root) ? 0 : node.Mark().line + 1;
  } catch (const YAML::Exception&) {
    return 0;
  }
}

}  // namespace tessera::serving
