// Exceptions of yaml-cpp do not leave this file: an emitter throws none, and notes errors instead.
#include "serving/server/effective_config.h"

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/descriptor.h"

namespace tessera::serving {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsSecret(const FieldDescriptor& field) { return field.name() == "server_key"; }

void Emit(const Message& message, YAML::Emitter& yaml);

// Emits a field, or the element `index` of a repeated one.
void EmitValue(const Message& message, const FieldDescriptor* field, int index,
               YAML::Emitter& yaml) {
  const Reflection* reflection = message.GetReflection();
  const bool repeated = field->is_repeated();
#define TESSERA_GET(NAME)                                          \
  (repeated ? reflection->GetRepeated##NAME(message, field, index) \
            : reflection->Get##NAME(message, field))
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      yaml << TESSERA_GET(Bool);
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      yaml << TESSERA_GET(Int32);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      yaml << TESSERA_GET(Int64);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      yaml << TESSERA_GET(UInt32);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      yaml << TESSERA_GET(UInt64);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      yaml << TESSERA_GET(Float);
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      yaml << TESSERA_GET(Double);
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      yaml << TESSERA_GET(String);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      yaml << TESSERA_GET(Enum)->name();
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      Emit(TESSERA_GET(Message), yaml);
      break;
  }
#undef TESSERA_GET
}

void EmitMap(const Message& message, const FieldDescriptor* field, YAML::Emitter& yaml) {
  const Reflection* reflection = message.GetReflection();
  // In the order of their texts: the message has them in the order of a hash table.
  std::map<std::string, const Message*> entries;
  for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
    const Message& entry = reflection->GetRepeatedMessage(message, field, i);
    YAML::Emitter key;
    EmitValue(entry, field->message_type()->map_key(), 0, key);
    entries[key.c_str()] = &entry;
  }
  yaml << YAML::Flow << YAML::BeginMap;
  for (const auto& [text, entry] : entries) {
    yaml << YAML::Key;
    EmitValue(*entry, field->message_type()->map_key(), 0, yaml);
    yaml << YAML::Value;
    EmitValue(*entry, field->message_type()->map_value(), 0, yaml);
  }
  yaml << YAML::EndMap;
}

// Emits the fields that are set, as YamlToProto() reads them.
void EmitFields(const Message& message, YAML::Emitter& yaml) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (IsSecret(*field)) continue;
    yaml << YAML::Key << field->name() << YAML::Value;
    if (field->is_map()) {
      EmitMap(message, field, yaml);
    } else if (field->is_repeated()) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) yaml << YAML::Flow;
      yaml << YAML::BeginSeq;
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
        EmitValue(message, field, i, yaml);
      }
      yaml << YAML::EndSeq;
    } else {
      EmitValue(message, field, 0, yaml);
    }
  }
}

void Emit(const Message& message, YAML::Emitter& yaml) {
  const auto* descriptor = message.GetDescriptor();
  const bool is_wrapper = absl::StartsWith(descriptor->full_name(), "google.protobuf.") &&
                          descriptor->field_count() == 1;
  if (is_wrapper) return EmitValue(message, descriptor->field(0), 0, yaml);
  if (message.ByteSizeLong() == 0) yaml << YAML::Flow;  // {}
  yaml << YAML::BeginMap;
  EmitFields(message, yaml);
  yaml << YAML::EndMap;
}

std::string Scalar(const FlagParser::Variable& variable) {
  // Flags are read by strtof(), which knows no ".inf".
  if (float* const* number = std::get_if<float*>(&variable)) {
    return absl::StrFormat("%.9g", **number);
  }
  YAML::Emitter yaml;
  std::visit([&yaml](const auto* value) { yaml << *value; }, variable);
  return yaml.c_str();
}

void AppendBlock(absl::string_view name, const Message& message, std::string* text) {
  YAML::Emitter yaml;
  yaml << YAML::BeginMap << YAML::Key << std::string(name) << YAML::Value;
  Emit(message, yaml);
  yaml << YAML::EndMap;
  absl::StrAppend(text, "\n", yaml.c_str(), "\n");
}

}  // namespace

std::string EffectiveConfig(const ServerOptions& options,
                            const tensorflow::serving::ModelServerConfig& models,
                            const RolloutConfigs& rollouts, const LimitsConfigs& limits) {
  ServerOptions set = options, defaults;
  const FlagParser flags = set.Flags(), default_flags = defaults.Flags();
  std::string text, comments;
  for (size_t i = 0; i < flags.flags().size(); ++i) {
    const FlagParser::Flag& flag = flags.flags()[i];
    if (IsForCommandLineOnly(flag.name)) continue;
    const std::string value = Scalar(flag.variable);
    const bool is_default = value == Scalar(default_flags.flags()[i].variable);
    absl::StrAppend(is_default ? &comments : &text, is_default ? "# " : "", flag.name, ": ",
                    absl::StrReplaceAll(value, {{"\n", " "}}), "\n");
  }
  if (options.models || models.model_config_list().config_size() > 0) {
    YAML::Emitter yaml;
    yaml << YAML::BeginMap << YAML::Key << "models" << YAML::Value << YAML::BeginSeq;
    for (const auto& model : models.model_config_list().config()) {
      yaml << YAML::BeginMap;
      EmitFields(model, yaml);
      if (const auto rollout = rollouts.find(model.name()); rollout != rollouts.end()) {
        yaml << YAML::Key << "rollout" << YAML::Value;
        Emit(rollout->second, yaml);
      }
      if (const auto limit = limits.find(model.name()); limit != limits.end()) {
        yaml << YAML::Key << "limits" << YAML::Value;
        Emit(limit->second, yaml);
      }
      yaml << YAML::EndMap;
    }
    yaml << YAML::EndSeq << YAML::EndMap;
    absl::StrAppend(&text, "\n", yaml.c_str(), "\n");
  }
  // The block turns batching on.
  if (options.batching && options.enable_batching)
    AppendBlock("batching", *options.batching, &text);
  if (options.monitoring) AppendBlock("monitoring", *options.monitoring, &text);
  if (options.ssl) {
    AppendBlock("ssl", *options.ssl, &text);
    if (!options.ssl->server_key().empty()) {
      absl::StrAppend(&text, "# ssl.server_key is secret, and left out.\n");
    }
  }
  return absl::StrCat(text, "\n# By default:\n", comments);
}

std::string ConfigToPrint(ServerOptions options) {
  // The name of the file says where rollouts are kept, and the printed one may get another name.
  if (options.rollout_state_file.empty() && !options.rollouts.empty()) {
    options.rollout_state_file = RolloutStateFile(options);
  }
  const auto models = options.models.value_or(tensorflow::serving::ModelServerConfig());
  return EffectiveConfig(options, models, options.rollouts, options.limits);
}

}  // namespace tessera::serving
