// config/tessera.schema.json says what ReadConfigFile() takes.
#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "rapidjson/document.h"
#include "rapidjson/schema.h"
#include "rapidjson/stringbuffer.h"
#include "runtime/base/file_system.h"
#include "serving/server/server_options.h"

namespace tessera::serving {
namespace {

using google::protobuf::FieldDescriptor;
using Json = rapidjson::Value;
using Names = std::set<std::string>;

Json FromYaml(const YAML::Node& node, rapidjson::Document& owner) {
  auto& allocator = owner.GetAllocator();
  Json json;
  if (node.IsMap()) {
    json.SetObject();
    for (const auto& item : node) {
      json.AddMember(Json(item.first.Scalar().c_str(), allocator), FromYaml(item.second, owner),
                     allocator);
    }
  } else if (node.IsSequence()) {
    json.SetArray();
    for (const auto& item : node) json.PushBack(FromYaml(item, owner), allocator);
  } else if (node.IsScalar()) {
    bool truth;
    int64_t integer;
    double real;
    if (absl::SimpleAtoi(node.Scalar(), &integer)) {
      json.SetInt64(integer);
    } else if (absl::SimpleAtod(node.Scalar(), &real)) {
      json.SetDouble(real);
    } else if (YAML::convert<bool>::decode(node, truth)) {
      json.SetBool(truth);
    } else {
      json.SetString(node.Scalar().c_str(), allocator);
    }
  }
  return json;
}

Names NamesOf(const Json& properties) {
  Names names;
  for (const auto& member : properties.GetObject()) names.insert(member.name.GetString());
  return names;
}

// Fields of LoggingConfig that every configuration is refused for.
const Names kRefusedFields = {"per_task_sampling_configs", "attributes", "custom_logging_config"};

class ConfigSchemaTest : public ::testing::Test {
 protected:
  ConfigSchemaTest() {
    schema_.Parse(ReadFile("config/tessera.schema.json")->c_str());
    EXPECT_FALSE(schema_.HasParseError()) << "at byte " << schema_.GetErrorOffset();
  }
  // What a "$ref" stands for; other values are themselves.
  const Json& Resolve(const Json& value) const {
    if (!value.HasMember("$ref")) return value;
    const std::string name = value["$ref"].GetString();
    const std::string prefix = "#/definitions/";
    EXPECT_TRUE(absl::StartsWith(name, prefix)) << name;
    return schema_["definitions"][name.substr(prefix.size()).c_str()];
  }
  const Json& Property(const char* name) const { return Resolve(schema_["properties"][name]); }

  // "" if the YAML text is as the schema says, else which of its rules is broken.
  std::string Broken(const std::string& yaml) const {
    rapidjson::Document owner;
    const Json json = FromYaml(YAML::Load(yaml), owner);
    const rapidjson::SchemaDocument rules(schema_);
    rapidjson::SchemaValidator validator(rules);
    return json.Accept(validator) ? "" : validator.GetInvalidSchemaKeyword();
  }

  // That an object's properties are the fields of the message, and `others`.
  void CheckMessage(const Json& object, const google::protobuf::Descriptor& message,
                    const Names& others = {}) const {
    ASSERT_TRUE(object.HasMember("properties")) << message.full_name();
    EXPECT_FALSE(object["additionalProperties"].GetBool()) << message.full_name();
    Names fields = others;
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (kRefusedFields.contains(field.name())) continue;
      fields.insert(field.name());
      ASSERT_TRUE(object["properties"].HasMember(field.name().c_str())) << field.full_name();
      CheckField(Resolve(object["properties"][field.name().c_str()]), field);
    }
    EXPECT_EQ(NamesOf(object["properties"]), fields) << message.full_name();
  }

 private:
  void CheckField(const Json& value, const FieldDescriptor& field) const {
    if (field.is_map()) {
      EXPECT_STREQ(value["type"].GetString(), "object") << field.full_name();
      return CheckValue(value["additionalProperties"], *field.message_type()->field(1));
    }
    if (!field.is_repeated()) return CheckValue(value, field);
    EXPECT_STREQ(value["type"].GetString(), "array") << field.full_name();
    CheckValue(Resolve(value["items"]), field);
  }
  void CheckValue(const Json& value, const FieldDescriptor& field) const {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (absl::StartsWith(field.message_type()->full_name(), "google.protobuf.")) {
          return CheckValue(value, *field.message_type()->field(0));  // Int64Value is written as 5
        }
        return CheckMessage(value, *field.message_type());
      case FieldDescriptor::CPPTYPE_ENUM:
        EXPECT_EQ(value["enum"].Size(), field.enum_type()->value_count()) << field.full_name();
        return;
      case FieldDescriptor::CPPTYPE_BOOL:
        EXPECT_STREQ(value["type"].GetString(), "boolean") << field.full_name();
        return;
      case FieldDescriptor::CPPTYPE_STRING:
        if (field.name() == "model_platform") return;  // its one value
        EXPECT_STREQ(value["type"].GetString(), "string") << field.full_name();
        return;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        EXPECT_STREQ(value["type"].GetString(), "number") << field.full_name();
        return;
      default:
        EXPECT_STREQ(value["type"].GetString(), "integer") << field.full_name();
    }
  }

 protected:
  rapidjson::Document schema_;
};

TEST_F(ConfigSchemaTest, HoldsEveryFlagWithItsType) {
  const std::map<std::string, std::string> types = {{"int32", "integer"},
                                                    {"int64", "integer"},
                                                    {"bool", "boolean"},
                                                    {"float", "number"},
                                                    {"string", "string"}};
  Names keys = {"models", "batching", "monitoring", "ssl"};
  ServerOptions options;
  // A line of usage: "\t--port=8500 \tint32\thelp".
  for (const absl::string_view line : absl::StrSplit(options.Flags().Usage("tessera"), '\n')) {
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns.size() != 4) continue;
    const std::string name = columns[1].substr(2, columns[1].find('=') - 2);
    if (IsForCommandLineOnly(name)) continue;
    keys.insert(name);
    ASSERT_TRUE(schema_["properties"].HasMember(name.c_str())) << name;
    EXPECT_EQ(Property(name.c_str())["type"].GetString(), types.at(columns[2])) << name;
  }
  EXPECT_GT(keys.size(), 50u);
  EXPECT_EQ(NamesOf(schema_["properties"]), keys);
}

TEST_F(ConfigSchemaTest, BlocksHaveTheFieldsOfTheirMessages) {
  namespace tfs = tensorflow::serving;
  CheckMessage(Resolve(Property("models")["items"]), *tfs::ModelConfig::descriptor(),
               {"rollout", "limits"});
  CheckMessage(schema_["definitions"]["LimitsConfig"], *LimitsConfig::descriptor());
  CheckMessage(schema_["definitions"]["RolloutConfig"], *RolloutConfig::descriptor());
  CheckMessage(Property("batching"), *tfs::BatchingParameters::descriptor(), {"mode"});
  CheckMessage(Property("monitoring"), *tfs::MonitoringConfig::descriptor());
  CheckMessage(Property("ssl"), *tfs::SSLConfig::descriptor());
}

TEST_F(ConfigSchemaTest, SampleAndWhatIsCommentedOutInItAreValid) {
  const std::string sample = *ReadFile("config/tessera.yaml");
  EXPECT_EQ(Broken(sample), "");
  std::string whole;
  for (absl::string_view line : absl::StrSplit(sample, '\n')) {
    // "# batching:" and "#   max_batch_size: 32" are settings, other comments are sentences.
    const bool is_setting =
        absl::StartsWith(line, "#   ") || line == "# batching:" || line == "# ssl:";
    absl::StrAppend(&whole, is_setting ? line.substr(2) : line, "\n");
  }
  EXPECT_NE(whole, sample + "\n");
  EXPECT_EQ(Broken(whole), "");
  ServerOptions options;
  const std::string path = JoinPath(::testing::TempDir(), "whole.yaml");
  ASSERT_TRUE(WriteFileAtomically(path, whole).ok());
  const absl::Status status = ReadConfigFile(path, &options);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(options.batching.has_value());
  EXPECT_TRUE(options.ssl.has_value());
}

TEST_F(ConfigSchemaTest, RefusesWhatTheServerRefuses) {
  const char kModel[] = "models: [{name: m, base_path: /m";
  for (const std::string& good :
       {std::string("port: 1"), std::string("enable_batching: true"), absl::StrCat(kModel, "}]"),
        absl::StrCat(kModel, ", model_version_policy: {all: }}]"),
        absl::StrCat(kModel, ", version_labels: {a: 1}}]"), absl::StrCat(kModel, ", rollout: }]"),
        absl::StrCat(kModel, ", rollout: {steps: [{share_percent: 0.5}]}}]"),
        absl::StrCat(kModel,
                     ", logging_config: {sampling_config: {sampling_rate: 0.01}, "
                     "log_collector_config: {type: tfrecord, filename_prefix: /logs/m}}}]"),
        absl::StrCat(kModel, ", limits: {}}]"),
        absl::StrCat(kModel, ", limits: {max_concurrent_requests: 1, max_queue: 0}}]")}) {
    EXPECT_EQ(Broken(good), "") << good;
  }
  const std::pair<std::string, std::string> kBad[] = {
      {"prot: 1", "additionalProperties"},
      {"config: other.yaml", "additionalProperties"},
      {"port: many", "type"},
      {"batching: {max_batchsize: 1}", "additionalProperties"},
      {"batching: {mode: [adaptive]}", "type"},
      {"models: {name: m}", "type"},
      {absl::StrCat(kModel, ", model_version_policy: {all: {}, latest: {}}}]"), "maxProperties"},
      {absl::StrCat(kModel, ", version_labels: {a: one}}]"), "type"},
      {absl::StrCat(kModel, ", logging_config: {sampling_config: {rate: 1}}}]"),
       "additionalProperties"},
      {absl::StrCat(kModel, ", rollout: {steps: [{share_percent: 0}]}}]"), "minimum"},
      {absl::StrCat(kModel, ", rollout: {steps: [{share_percent: 101}]}}]"), "maximum"},
      {absl::StrCat(kModel, ", rollout: {conditions: {min_requests: 0}}}]"), "minimum"},
      {absl::StrCat(kModel, ", rollout: {conditions: {windows: 1}}}]"), "additionalProperties"},
      {absl::StrCat(kModel, ", rollout: {sticky_key: 'a b'}}]"), "pattern"},
      {absl::StrCat(kModel, ", limits: {max_concurrent_requests: 0}}]"), "minimum"},
      {absl::StrCat(kModel, ", limits: {max_queue: 1}}]"), "dependencies"},
      {absl::StrCat(kModel, ", limits: {timeout_ms: soon}}]"), "type"},
      {absl::StrCat(kModel, ", limits: {share: 1001}}]"), "maximum"},
      {absl::StrCat(kModel, ", limits: {timeout: 1}}]"), "additionalProperties"},
      {absl::StrCat(kModel, ", limits: }]"), "type"},
  };
  for (const auto& [yaml, keyword] : kBad) {
    EXPECT_EQ(Broken(yaml), keyword) << yaml;
    ServerOptions options;
    const std::string path = JoinPath(::testing::TempDir(), "bad.yaml");
    ASSERT_TRUE(WriteFileAtomically(path, yaml).ok());
    EXPECT_FALSE(ReadConfigFile(path, &options).ok()) << yaml;
  }
}

}  // namespace
}  // namespace tessera::serving
